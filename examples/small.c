/* boards-small: a flowpipe stage in C. It passes on what vision read only where the board is small.
 *   cc -Wall -Wextra -shared -fPIC -I core/abi/include examples/small.c -o libboards_small.so */
#include "flowpipe.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  flowpipe_stage_t stage; /* first: the host's pointer to it is a pointer to all of this */
  const flowpipe_host_t *host;
  int64_t cells;
} small_t;

static const char manifest_text[] =
    "{ \"name\": \"boards-small\", \"version\": \"0.1.0\", \"role\": \"stage\", \"doc\": \"Passes on small boards alone.\","
    "  \"inputs\": [{ \"name\": \"in\", \"schema\": \"flowpipe.sighting/1\" }],"
    "  \"outputs\": [{ \"name\": \"out\", \"schema\": \"flowpipe.sighting/1\" }],"
    "  \"config\": { \"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "    \"cells\": { \"type\": \"integer\", \"default\": 64, \"description\": \"The most cells of a board.\" } } },"
    "  \"deterministic\": true, \"effects\": [], \"panic\": \"abort\" }";

static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  const small_t *small = (const small_t *)stage;
  const flowpipe_message_t *in = call->message;
  int64_t rows, cols;
  if (call->event != FLOWPIPE_EVENT_MESSAGE) return FLOWPIPE_OK; /* all inputs have ended: nothing is held back */
  if (small->host->get_int(small->host, in->document, "/reading/puzzle/board/rows", &rows) != FLOWPIPE_OK ||
      small->host->get_int(small->host, in->document, "/reading/puzzle/board/cols", &cols) != FLOWPIPE_OK)
    return FLOWPIPE_OK; /* vision read no board */
  if (rows * cols > small->cells) {
    small->host->log(small->host, FLOWPIPE_LEVEL_INFO, "a board too large", strlen("a board too large"));
    return FLOWPIPE_OK;
  }
  flowpipe_output_t out = { sizeof out, 0, in->schema, in->json, in->json_length, in->frame, 0 };
  return small->host->emit(small->host, call->context, &out);
}

static flowpipe_status_t ok(flowpipe_stage_t *stage) { (void)stage; return FLOWPIPE_OK; }
static void nothing(flowpipe_stage_t *stage) { (void)stage; }
static void destroy(flowpipe_stage_t *stage) { free(stage); }
static const void *extension(flowpipe_stage_t *stage, const char *id) { (void)stage, (void)id; return NULL; }

static flowpipe_stage_t *create(const flowpipe_host_t *host, uint32_t index, const char *config, const flowpipe_document_t *document) {
  small_t *small = calloc(1, sizeof *small);
  (void)index, (void)config;
  if (!small) return NULL;
  *small = (small_t){ { sizeof(flowpipe_stage_t), 0, NULL, ok, process, ok, nothing, destroy, extension }, host, 64 };
  host->get_int(host, document, "/cells", &small->cells); /* stays 64 when it is not written */
  return &small->stage;
}

static uint32_t count(void) { return 1; }
static const char *manifest(uint32_t index) { return index == 0 ? manifest_text : NULL; }
static const flowpipe_stage_factory_t factory = { sizeof factory, 0, count, manifest, create };
static flowpipe_status_t init(const flowpipe_host_t *host) { (void)host; return FLOWPIPE_OK; }
static void deinit(void) {}
static const void *get_factory(const char *id) { return strcmp(id, FLOWPIPE_FACTORY_STAGES) ? NULL : &factory; }
const flowpipe_entry_t flowpipe_entry = { FLOWPIPE_MAGIC, FLOWPIPE_ABI_MAJOR, FLOWPIPE_ABI_MINOR, sizeof flowpipe_entry, 0, init, deinit, get_factory };
