// What the messages of any domain contain: of each output the first and the last ones.

function showMessages() {
  const { outputs, more_outputs: more, is_cut: isCut } = data.messages;
  byId('messages').hidden = byId('to-messages').hidden = outputs.length === 0;
  if (outputs.length === 0) return;
  const limits = [];
  if (more > 0) limits.push(`${counted(more, 'output')} more ${more === 1 ? 'is' : 'are'} not shown.`);
  if (isCut) limits.push('Some are left out, because the page has no room for them.');
  const about = 'Of each output, the first and the last messages as JSON. flowpipe messages prints all of them.';
  byId('messages-about').textContent = [about, ...limits].join(' ');
  byId('messages-body').append(...outputs.map(outputMessages));
}

function outputMessages(output) {
  const between = output.count - output.first.length - output.last.length;
  return element(
    'details',
    { class: 'messages' },
    element('summary', {}, element('strong', {}, output.output), ` ${counted(output.count, 'message')}`, element('small', {}, output.schema)),
    element('ol', {}, output.first.map(shownMessage)),
    between > 0 ? element('p', { class: 'quiet' }, `${counted(between, 'message')} not shown`) : null,
    output.last.length > 0 ? element('ol', {}, output.last.map(shownMessage)) : null,
  );
}

function shownMessage(message) {
  const more = message.more > 0 ? element('small', {}, `and ${counted(message.more, 'character')} more`) : null;
  return element(
    'li',
    {},
    element('p', { class: 'head' }, element('span', {}, `message ${count(message.sequence)}`), element('span', { class: 'quiet' }, clock(message.at_ns)), more),
    element('code', {}, message.text),
  );
}
