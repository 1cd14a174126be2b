/* plugin-name: a flowpipe planner. This one drags through the centre of every cell of square boards.
 * flowpipe.h is the whole ABI; its comments are the specification. `make` builds it. */
#include "flowpipe.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  flowpipe_stage_t stage; /* first: the host's pointer to it is a pointer to all of this */
  const flowpipe_host_t *host;
  int64_t backwards; /* from the config */
} plugin_t;

/* The manifest, in JSON. The host reads it before it creates a stage. `effects`: the stage has none. */
static const char manifest_text[] =
    "{ \"name\": \"plugin-name\", \"version\": \"0.1.0\", \"role\": \"planner\","
    "  \"doc\": \"Drags through the centre of every cell of square boards.\","
    "  \"inputs\": [{ \"name\": \"in\", \"schema\": \"flowpipe.solved/1\" }],"
    "  \"outputs\": [{ \"name\": \"out\", \"schema\": \"flowpipe.strokes/1\" }],"
    "  \"config\": { \"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "    \"backwards\": { \"type\": \"integer\", \"default\": 0, \"description\": \"1: draw each flow from its other end.\" } } },"
    "  \"deterministic\": true, \"effects\": [], \"panic\": \"abort\" }";

/* The host has validated the config against the manifest. Keys that it lacks keep the values set here. */
static void configure(plugin_t *plugin, const flowpipe_document_t *config) {
  plugin->backwards = 0;
  plugin->host->get_int(plugin->host, config, "/backwards", &plugin->backwards);
}
TEXT
MEMBER

/* A number of the message, by a JSON Pointer of a format and two indices. */
static int64_t number(const plugin_t *plugin, const flowpipe_message_t *in, const char *format, size_t first, size_t second) {
  char pointer[96];
  int64_t value = 0;
  snprintf(pointer, sizeof pointer, format, first, second);
  plugin->host->get_int(plugin->host, in->document, pointer, &value);
  return value;
}

/* Plans the strokes of a solution, in board units: the top left cell's centre is (0.5, 0.5). */
static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  const plugin_t *plugin = (const plugin_t *)stage;
  const flowpipe_host_t *host = plugin->host;
  const flowpipe_message_t *in = call->message;
  size_t flows, cells;
  if (call->event != FLOWPIPE_EVENT_MESSAGE) return FLOWPIPE_OK;
  if (host->get_count(host, in->document, "/answer/solution/flows", &flows) != FLOWPIPE_OK)
    return FLOWPIPE_OK; /* no solution */
  int64_t cols = number(plugin, in, "/sighting/reading/puzzle/board/cols", 0, 0);
  if (cols < 1 || cols > 1000) return FLOWPIPE_BAD_MESSAGE;
  /* These members are present only for boards of hexes, and for boards that wrap around. */
  if (host->get_count(host, in->document, "/sighting/reading/puzzle/board/lattice", &cells) != FLOWPIPE_NOT_FOUND ||
      host->get_count(host, in->document, "/sighting/reading/puzzle/board/warps", &cells) != FLOWPIPE_NOT_FOUND) {
    static const char line[] = "a board that is no plain square one";
    host->log(host, FLOWPIPE_LEVEL_WARN, line, sizeof line - 1);
    return FLOWPIPE_OK;
  }
  text_t out = { 0 };
  add(&out, "{\"planner\":\"plugin-name\",\"strokes\":[");
  for (size_t flow = 0; flow < flows; flow++) {
    text_t points = { 0 };
    char pointer[96];
    snprintf(pointer, sizeof pointer, "/answer/solution/flows/%zu/cells", flow);
    if (host->get_count(host, in->document, pointer, &cells) != FLOWPIPE_OK) cells = 0;
    int colour = (int)number(plugin, in, "/answer/solution/flows/%zu/colour", flow, 0);
    add(&out, "%s{\"colour\":%d,\"cells\":[", flow ? "," : "", colour);
    for (size_t at = 0; at < cells; at++) {
      size_t index = plugin->backwards ? cells - 1 - at : at;
      int cell = (int)number(plugin, in, "/answer/solution/flows/%zu/cells/%zu", flow, index);
      add(&out, "%s%d", at ? "," : "", cell);
      add(&points, "%s[%d.5,%d.5]", at ? "," : "", cell % (int)cols, cell / (int)cols);
    }
    add(&out, "],\"points\":[%s]}", points.start ? points.start : "");
    free(points.start);
  }
  int answer = 0, solution = 0, sighting = 0; /* their lengths */
  const char *solution_text = member(member(in->json, "answer", &answer), "solution", &solution);
  const char *sighting_text = member(in->json, "sighting", &sighting);
  add(&out, "],\"solution\":%.*s,\"sighting\":%.*s}", solution, solution_text, sighting, sighting_text);
  return emit(plugin, call, &out);
}
