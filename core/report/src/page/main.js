// Everything in its place. What one part can't show is no reason not to show the others.

for (const part of [showOverview, showBoards, showMetrics, showMessages, () => player.show(), () => timeline.show(), showStages, showDrops, showFailures, showPipeline]) {
  try {
    part();
  } catch (error) {
    console.error(error);
  }
}
document.documentElement.dataset.ready = 'true';
