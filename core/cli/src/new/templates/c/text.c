
/* A growing text buffer. */
typedef struct {
  char *start;
  size_t length, room;
} text_t;

static void add(text_t *text, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  size_t needed = text->length + (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
  va_end(arguments);
  if (needed > text->room) {
    char *start = realloc(text->start, 2 * needed);
    if (!start) abort(); /* out of memory */
    text->start = start;
    text->room = 2 * needed;
  }
  text->length += (size_t)vsnprintf(text->start + text->length, text->room - text->length, format, again);
  va_end(again);
}

/* Emits a text at the first output, and frees it. */
static flowpipe_status_t emit(const plugin_t *plugin, const flowpipe_process_t *call, text_t *text) {
  flowpipe_output_t out = { sizeof out, 0, NULL, text->start, text->length, NULL, 0 };
  flowpipe_status_t status = plugin->host->emit(plugin->host, call->context, &out);
  free(text->start);
  return status;
}
