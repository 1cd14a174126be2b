/* plugin-name: a flowpipe stage. This one forwards small boards only.
 * flowpipe.h is the whole ABI; its comments are the specification. `make` builds it. */
#include "flowpipe.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  flowpipe_stage_t stage; /* first: the host's pointer to it is a pointer to all of this */
  const flowpipe_host_t *host;
  int64_t cells; /* from the config */
} plugin_t;

/* The manifest, in JSON. The host reads it before it creates a stage. `effects`: the stage has none. */
static const char manifest_text[] =
    "{ \"name\": \"plugin-name\", \"version\": \"0.1.0\", \"role\": \"stage\","
    "  \"doc\": \"Passes on small boards alone.\","
    "  \"inputs\": [{ \"name\": \"in\", \"schema\": \"flowpipe.sighting/1\" }],"
    "  \"outputs\": [{ \"name\": \"out\", \"schema\": \"flowpipe.sighting/1\" }],"
    "  \"config\": { \"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "    \"cells\": { \"type\": \"integer\", \"default\": 64, \"description\": \"The most cells of a board.\" } } },"
    "  \"deterministic\": true, \"effects\": [], \"panic\": \"abort\" }";

/* The host has validated the config against the manifest. Keys that it lacks keep the values set here. */
static void configure(plugin_t *plugin, const flowpipe_document_t *config) {
  plugin->cells = 64;
  plugin->host->get_int(plugin->host, config, "/cells", &plugin->cells);
}

static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  const plugin_t *plugin = (const plugin_t *)stage;
  const flowpipe_host_t *host = plugin->host;
  const flowpipe_message_t *in = call->message;
  int64_t rows, cols;
  if (call->event != FLOWPIPE_EVENT_MESSAGE) return FLOWPIPE_OK; /* all inputs have ended: there is nothing to flush */
  if (host->get_int(host, in->document, "/reading/puzzle/board/rows", &rows) != FLOWPIPE_OK ||
      host->get_int(host, in->document, "/reading/puzzle/board/cols", &cols) != FLOWPIPE_OK)
    return FLOWPIPE_OK; /* vision read no board */
  if (rows * cols > plugin->cells) {
    static const char line[] = "a board that is too large";
    host->log(host, FLOWPIPE_LEVEL_INFO, line, sizeof line - 1);
    return FLOWPIPE_OK;
  }
  flowpipe_output_t out = { sizeof out, 0, in->schema, in->json, in->json_length, in->frame, 0 };
  return host->emit(host, call->context, &out);
}
