/* plugin-name: a flowpipe solver, for plain boards of up to 64 cells. It tries every path of every flow.
 * flowpipe.h is the whole ABI; its comments are the specification. `make` builds it. */
#include "flowpipe.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  flowpipe_stage_t stage; /* first: the host's pointer to it is a pointer to all of this */
  const flowpipe_host_t *host;
  int64_t max_steps; /* from the config */
} plugin_t;

/* The manifest, in JSON. The host reads it before it creates a stage. `effects`: the stage has none. */
static const char manifest_text[] =
    "{ \"name\": \"plugin-name\", \"version\": \"0.1.0\", \"role\": \"solver\","
    "  \"doc\": \"Tries every path of every flow in turn, on plain boards of up to 64 cells.\","
    "  \"inputs\": [{ \"name\": \"in\", \"schema\": \"flowpipe.sighting/1\" }],"
    "  \"outputs\": [{ \"name\": \"out\", \"schema\": \"flowpipe.solved/1\" }],"
    "  \"config\": { \"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "    \"max_steps\": { \"type\": \"integer\", \"default\": 0, \"description\": \"Give up after this many steps; 0: never.\" } } },"
    "  \"deterministic\": true, \"effects\": [], \"panic\": \"abort\" }";

/* The host has validated the config against the manifest. Keys that it lacks keep the values set here. */
static void configure(plugin_t *plugin, const flowpipe_document_t *config) {
  plugin->max_steps = 0;
  plugin->host->get_int(plugin->host, config, "/max_steps", &plugin->max_steps);
}
TEXT

#define CELLS 64

/* The flows drawn so far. */
typedef struct {
  const plugin_t *plugin;
  flowpipe_context_t *context;
  int rows, cols, flows, free;
  int colour[CELLS];                      /* by cell: the flow there, or -1 */
  int name[CELLS], start[CELLS], goal[CELLS]; /* by flow: its colour, its two terminals */
  int length[CELLS], path[CELLS][CELLS];  /* by flow: its cells so far */
  int64_t steps;
  int given_up; /* cancelled, or too many steps */
} board_t;

/* The neighbour of a cell, or -1. 0 north, 1 east, 2 south, 3 west. */
static int step(const board_t *board, int cell, int way) {
  int row = cell / board->cols + (way == 2) - (way == 0);
  int col = cell % board->cols + (way == 1) - (way == 3);
  return row < 0 || col < 0 || row >= board->rows || col >= board->cols ? -1 : row * board->cols + col;
}

/* Whether a cell touches its flow at other cells than `head` and the goal. */
static int touches(const board_t *board, int cell, int head, int flow) {
  for (int way = 0; way < 4; way++) {
    int beside = step(board, cell, way);
    if (beside >= 0 && beside != head && beside != board->goal[flow] && board->colour[beside] == flow) return 1;
  }
  return 0;
}

/* Extends a flow from a cell to its goal, and then the flows after it. Nonzero: all are drawn. */
static int grow(board_t *board, int flow, int cell) {
  const plugin_t *plugin = board->plugin;
  int goal = board->goal[flow], at_goal = 0;
  board->steps++;
  if (plugin->max_steps && board->steps > plugin->max_steps) board->given_up = 1;
  if (board->steps % 1024 == 0 && plugin->host->cancelled(plugin->host, board->context)) board->given_up = 1;
  if (board->given_up) return 0;
  board->path[flow][board->length[flow]++] = cell;
  if (cell == goal) {
    if (flow + 1 == board->flows ? board->free == 0 : grow(board, flow + 1, board->start[flow + 1])) return 1;
  } else {
    for (int way = 0; way < 4; way++) at_goal |= step(board, cell, way) == goal;
    for (int way = 0; way < 4; way++) {
      int to = step(board, cell, way);
      /* A flow that passes by its goal would touch itself. */
      if (to < 0 || (at_goal ? to != goal : board->colour[to] >= 0 || touches(board, to, cell, flow))) continue;
      if (to != goal) board->colour[to] = flow, board->free--;
      if (grow(board, flow, to)) return 1;
      if (to != goal) board->colour[to] = -1, board->free++;
    }
  }
  board->length[flow]--;
  return 0;
}

/* A number of the message, or a default. */
static int number(const plugin_t *plugin, const flowpipe_message_t *in, const char *format, size_t index, int otherwise) {
  char pointer[96];
  int64_t value = otherwise;
  snprintf(pointer, sizeof pointer, format, index);
  plugin->host->get_int(plugin->host, in->document, pointer, &value);
  return (int)value;
}

/* Why a puzzle is not supported, or NULL. Members of a board are present only if they apply. */
static const char *refusal(const plugin_t *plugin, const flowpipe_message_t *in, const board_t *board) {
  static const char *const beyond[] = { "lattice", "warps", "holes", "bridges", "walls" };
  const flowpipe_host_t *host = plugin->host;
  size_t many;
  char pointer[96];
  int32_t rule = 0;
  for (size_t at = 0; at < sizeof beyond / sizeof *beyond; at++) {
    snprintf(pointer, sizeof pointer, "/reading/puzzle/board/%s", beyond[at]);
    if (host->get_count(host, in->document, pointer, &many) != FLOWPIPE_NOT_FOUND) return beyond[at];
  }
  if (host->get_bool(host, in->document, "/reading/puzzle/rules/cover", &rule) == FLOWPIPE_OK) return "other rules";
  for (int flow = 0; flow < board->flows; flow++)
    for (int other = 0; other < flow; other++)
      if (board->name[other] == board->name[flow]) return "several pairs of one colour";
  return NULL;
}

static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  const plugin_t *plugin = (const plugin_t *)stage;
  const flowpipe_message_t *in = call->message;
  if (call->event != FLOWPIPE_EVENT_MESSAGE) return FLOWPIPE_OK;
  board_t board = { .plugin = plugin, .context = call->context };
  board.rows = number(plugin, in, "/reading/puzzle/board/rows", 0, 0);
  board.cols = number(plugin, in, "/reading/puzzle/board/cols", 0, 0);
  if (board.rows < 1 || board.cols < 1) return FLOWPIPE_OK; /* vision read no board */
  int too_large = board.rows > CELLS || board.cols > CELLS || board.rows * board.cols > CELLS;
  int cells = too_large ? 0 : board.rows * board.cols;
  size_t terminals = 0;
  plugin->host->get_count(plugin->host, in->document, "/reading/puzzle/terminals", &terminals);
  for (int cell = 0; cell < cells; cell++) board.colour[cell] = -1;
  for (size_t at = 0; at < terminals && !too_large; at++) {
    int cell = number(plugin, in, "/reading/puzzle/terminals/%zu/cell", at, 0);
    int name = number(plugin, in, "/reading/puzzle/terminals/%zu/colour", at, 0);
    int flow = 0;
    if (cell < 0 || cell >= cells || board.colour[cell] >= 0) return FLOWPIPE_BAD_MESSAGE;
    while (flow < board.flows && (board.name[flow] != name || board.goal[flow] >= 0)) flow++;
    if (flow == board.flows) {
      board.name[flow] = name, board.start[flow] = cell, board.goal[flow] = -1;
      board.flows++;
    } else {
      board.goal[flow] = cell;
    }
    board.colour[cell] = flow;
  }
  if (board.flows == 0 && !too_large) return FLOWPIPE_BAD_MESSAGE;
  for (int flow = 0; flow < board.flows; flow++)
    if (board.goal[flow] < 0) return FLOWPIPE_BAD_MESSAGE; /* it lacks its second terminal */
  board.free = cells - (int)terminals;
  text_t out = { 0 };
  add(&out, "{\"solver\":\"plugin-name\",\"answer\":");
  const char *beyond = too_large ? "boards of more than 64 cells" : refusal(plugin, in, &board);
  if (beyond) {
    add(&out, "{\"verdict\":\"unsupported\",\"reason\":\"it does not take %s\"}", beyond);
  } else if (grow(&board, 0, board.start[0])) {
    /* unique is null: the search stops at the first solution. */
    add(&out, "{\"verdict\":\"solution\",\"unique\":null,\"solution\":{\"flows\":[");
    for (int flow = 0; flow < board.flows; flow++) {
      add(&out, "%s{\"colour\":%d,\"cells\":[", flow ? "," : "", board.name[flow]);
      for (int at = 0; at < board.length[flow]; at++) add(&out, "%s%d", at ? "," : "", board.path[flow][at]);
      add(&out, "]}");
    }
    add(&out, "]}}");
  } else if (board.given_up) {
    add(&out, "{\"verdict\":\"unknown\",\"reason\":\"gave up\"}");
  } else {
    add(&out, "{\"verdict\":\"unsolvable\",\"reason\":null}");
  }
  /* A solver's message contains the whole sighting. */
  add(&out, ",\"effort\":{\"nodes\":%lld},\"sighting\":%.*s}", (long long)board.steps, (int)in->json_length, in->json);
  return emit(plugin, call, &out);
}
