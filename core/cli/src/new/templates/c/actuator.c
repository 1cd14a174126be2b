/* plugin-name: a flowpipe actuator. This one only logs what it would do.
 * flowpipe.h is the whole ABI; its comments are the specification. `make` builds it. */
#include "flowpipe.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  flowpipe_stage_t stage; /* first: the host's pointer to it is a pointer to all of this */
  const flowpipe_host_t *host;
  int64_t say; /* from the config */
} plugin_t;

/* The manifest, in JSON. The host reads it before it creates a stage. It declares no effects, so a replay does not run
 * it. A stage without effects declares "effects": [], one that moves the mouse
 * "effects": [{ "effect": "drives-mouse" }]. */
static const char manifest_text[] =
    "{ \"name\": \"plugin-name\", \"version\": \"0.1.0\", \"role\": \"actuator\","
    "  \"doc\": \"Says how many strokes it would play.\","
    "  \"inputs\": [{ \"name\": \"in\", \"schema\": \"flowpipe.strokes/1\" }],"
    "  \"outputs\": [{ \"name\": \"out\", \"schema\": \"flowpipe.outcome/1\" }],"
    "  \"config\": { \"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "    \"say\": { \"type\": \"integer\", \"default\": 1, \"description\": \"1: write it to the log.\" } } },"
    "  \"deterministic\": true, \"panic\": \"abort\" }";

/* The host has validated the config against the manifest. Keys that it lacks keep the values set here. */
static void configure(plugin_t *plugin, const flowpipe_document_t *config) {
  plugin->say = 1;
  plugin->host->get_int(plugin->host, config, "/say", &plugin->say);
}
TEXT
MEMBER

/* Plays the strokes. A stage that moves a real mouse is not deterministic (see the manifest), polls whether the call is
 * cancelled, and then releases the button at once. */
static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  const plugin_t *plugin = (const plugin_t *)stage;
  const flowpipe_host_t *host = plugin->host;
  const flowpipe_message_t *in = call->message;
  size_t strokes;
  if (call->event != FLOWPIPE_EVENT_MESSAGE) return FLOWPIPE_OK;
  if (host->get_count(host, in->document, "/strokes", &strokes) != FLOWPIPE_OK) return FLOWPIPE_BAD_MESSAGE;
  int sighting = 0, frame = 0; /* their lengths */
  const char *frame_text = member(member(in->json, "sighting", &sighting), "frame", &frame);
  text_t out = { 0 };
  add(&out, "{\"actuator\":\"plugin-name\",\"frame\":%.*s,\"solved\":null,\"strokes\":[", frame, frame_text);
  for (size_t stroke = 0; stroke < strokes; stroke++) {
    char pointer[96];
    int64_t colour = 0;
    snprintf(pointer, sizeof pointer, "/strokes/%zu/colour", stroke);
    host->get_int(host, in->document, pointer, &colour);
    host->mark(host, call->context, "action"); /* a press; the first one counts */
    /* The reaction of the game is unknown: accepted is null. */
    add(&out, "%s{\"colour\":%d,\"accepted\":null}", stroke ? "," : "", (int)colour);
  }
  add(&out, "],\"act_ns\":0}");
  if (plugin->say) {
    char line[64];
    int length = snprintf(line, sizeof line, "%zu strokes", strokes);
    host->log(host, FLOWPIPE_LEVEL_INFO, line, (size_t)length);
  }
  return emit(plugin, call, &out);
}
