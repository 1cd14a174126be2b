/* plugin-name: a flowpipe vision stage. This one reads no boards: it distinguishes dark pictures from bright ones.
 * flowpipe.h is the whole ABI; its comments are the specification. `make` builds it. */
#include "flowpipe.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  flowpipe_stage_t stage; /* first: the host's pointer to it is a pointer to all of this */
  const flowpipe_host_t *host;
  int64_t dark; /* from the config */
} plugin_t;

/* The manifest, in JSON. The host reads it before it creates a stage. `effects`: the stage has none. */
static const char manifest_text[] =
    "{ \"name\": \"plugin-name\", \"version\": \"0.1.0\", \"role\": \"vision\","
    "  \"doc\": \"Distinguishes dark pictures from bright ones.\","
    "  \"inputs\": [{ \"name\": \"in\", \"schema\": \"flowpipe.frame/1\" }],"
    "  \"outputs\": [{ \"name\": \"out\", \"schema\": \"flowpipe.sighting/1\" }],"
    "  \"config\": { \"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "    \"dark\": { \"type\": \"integer\", \"default\": 64, \"description\": \"Below this a picture is dark, from 0 to 255.\" } } },"
    "  \"deterministic\": true, \"effects\": [], \"panic\": \"abort\" }";

/* The host has validated the config against the manifest. Keys that it lacks keep the values set here. */
static void configure(plugin_t *plugin, const flowpipe_document_t *config) {
  plugin->dark = 64;
  plugin->host->get_int(plugin->host, config, "/dark", &plugin->dark);
}
TEXT

/* Reads one frame. A frame that can't be read exactly is refused with a reason: a wrong board would be played. */
static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  const plugin_t *plugin = (const plugin_t *)stage;
  const flowpipe_host_t *host = plugin->host;
  const flowpipe_message_t *in = call->message;
  if (call->event != FLOWPIPE_EVENT_MESSAGE || !in->frame) return FLOWPIPE_OK;
  flowpipe_frame_info_t info = { .struct_size = sizeof info };
  host->frame_info(host, in->frame, &info);
  const uint8_t *pixels = host->frame_read(host, in->frame);
  uint64_t size = info.format <= FLOWPIPE_FORMAT_RGBA8 ? 4 : info.format == FLOWPIPE_FORMAT_GREY8 ? 1 : 3;
  uint64_t colours = size == 4 ? 3 : size; /* the fourth byte is not a colour */
  uint64_t sum = 0, count = 0;
  for (uint64_t row = 0; row < info.height; row++)
    for (uint64_t col = 0; col < info.width; col++)
      for (uint64_t colour = 0; colour < colours; colour++, count++) sum += pixels[row * info.stride + col * size + colour];
  int brightness = count ? (int)(sum / count) : 0;
  text_t out = { 0 };
  add(&out, "{\"frame\":%.*s,\"reading\":{\"status\":\"refused\",\"step\":\"brightness\",", (int)in->json_length, in->json);
  add(&out, "\"reason\":\"a %s picture (%d of 255)\"}}", brightness < plugin->dark ? "dark" : "bright", brightness);
  return emit(plugin, call, &out);
}
