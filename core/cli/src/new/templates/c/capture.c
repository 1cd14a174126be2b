/* plugin-name: a flowpipe capture stage. This one draws a board with three flows.
 * flowpipe.h is the whole ABI; its comments are the specification. `make` builds it. */
#include "flowpipe.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  flowpipe_stage_t stage; /* first: the host's pointer to it is a pointer to all of this */
  const flowpipe_host_t *host;
  int64_t frames, given; /* from the config */
} plugin_t;

/* The manifest, in JSON. The host reads it before it creates a stage. `effects`: the stage has none. */
static const char manifest_text[] =
    "{ \"name\": \"plugin-name\", \"version\": \"0.1.0\", \"role\": \"capture\","
    "  \"doc\": \"Draws a board with three flows.\","
    "  \"inputs\": [],"
    "  \"outputs\": [{ \"name\": \"out\", \"schema\": \"flowpipe.frame/1\" }],"
    "  \"config\": { \"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "    \"frames\": { \"type\": \"integer\", \"default\": 3, \"description\": \"How many frames there are.\" } } },"
    "  \"deterministic\": true, \"effects\": [], \"panic\": \"abort\" }";

/* The host has validated the config against the manifest. Keys that it lacks keep the values set here. */
static void configure(plugin_t *plugin, const flowpipe_document_t *config) {
  plugin->frames = 3;
  plugin->host->get_int(plugin->host, config, "/frames", &plugin->frames);
}

#define CELL 60 /* pixels of a cell's side */
#define SIDE (3 * CELL + 40)
static const struct { int row, col; uint8_t colour[3]; } terminals[] = { /* blue, green, red */
  { 0, 0, { 40, 40, 250 } },  { 2, 2, { 40, 40, 250 } },  { 0, 1, { 250, 80, 40 } },
  { 1, 1, { 250, 80, 40 } },  { 0, 2, { 40, 220, 230 } }, { 1, 2, { 40, 220, 230 } },
};

/* The colour of a pixel: black, with lines around the cells, and a disc at each terminal. */
static const uint8_t *colour(int x, int y) {
  static const uint8_t black[3] = { 0, 0, 0 }, line[3] = { 110, 120, 110 };
  x -= 20, y -= 20;
  if (x < 0 || y < 0 || x > 3 * CELL || y > 3 * CELL) return black;
  if (x % CELL == 0 || y % CELL == 0) return line;
  int across = x % CELL - CELL / 2, down = y % CELL - CELL / 2;
  for (size_t at = 0; at < sizeof terminals / sizeof *terminals; at++)
    if (terminals[at].row == y / CELL && terminals[at].col == x / CELL && across * across + down * down < 21 * 21)
      return terminals[at].colour;
  return black;
}

/* Emits the next frame, ten a second. */
static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  plugin_t *plugin = (plugin_t *)stage;
  const flowpipe_host_t *host = plugin->host;
  if (plugin->given == plugin->frames) return FLOWPIPE_END;
  /* Waiting does not count as work, and ends when the run stops. */
  if (host->wait_until(host, call->context, plugin->given * 100000000) != FLOWPIPE_OK) return FLOWPIPE_CANCELLED;
  flowpipe_frame_info_t info = { sizeof info, FLOWPIPE_FORMAT_BGR8, SIDE, SIDE, 3 * SIDE, 0 };
  flowpipe_frame_t *frame = host->frame_new(host, &info);
  uint8_t *pixels = frame ? host->frame_write(host, &frame) : NULL;
  if (!pixels) {
    static const char why[] = "no memory for a frame";
    host->set_error(host, FLOWPIPE_ERROR, why, sizeof why - 1);
    return FLOWPIPE_ERROR;
  }
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++) memcpy(pixels + 3 * (y * SIDE + x), colour(x, y), 3);
  static const char note[] = "{\"source\":\"plugin-name\"}";
  flowpipe_output_t out = { sizeof out, 0, NULL, note, sizeof note - 1, frame, 0 };
  flowpipe_status_t status = host->emit(host, call->context, &out);
  host->frame_unref(host, frame); /* the host has taken a reference of its own */
  plugin->given++;
  return status;
}
