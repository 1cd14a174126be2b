/* A stage that breaks the rule that no thread uses the host after the stage is destroyed, as a plugin can without
 * knowing it that was built with an SDK whose handles are not revoked. Its thread never stops using the host and a frame,
 * and so does what runs at the end of the process. It prints what it sees then. */
#include <flowpipe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What is kept of a stage; never freed. */
typedef struct kept {
  flowpipe_stage_t stage;
  const flowpipe_host_t *host;
  flowpipe_frame_t *frame;
  struct kept *next;
} kept_t;

static _Atomic(kept_t *) all;
/* How many stages there are, how many are destroyed, and how many threads have reported what they saw after that. */
static atomic_int stages, destroyed, reported;

#define REVOKED_NS (INT64_MAX / 2)

/* Calls what a handle of the host reaches, on any thread; whether it is revoked, and in words what it reported. */
static int use_all(const kept_t *kept, char *text, size_t size) {
  const flowpipe_host_t *host = kept->host;
  int is_revoked = host->clock_now(host) == REVOKED_NS;
  host->log(host, FLOWPIPE_LEVEL_TRACE, "still here", 10);
  flowpipe_frame_info_t info = {sizeof info, FLOWPIPE_FORMAT_GREY8, 4, 4, 4, 0};
  flowpipe_frame_t *made = host->frame_new(host, &info);
  host->frame_unref(host, made);
  const flowpipe_run_t *run = host->get_extension(host, FLOWPIPE_EXTENSION_RUN);
  int ending = run->is_ending(host), dry = run->is_dry(host);
  if (is_revoked) {
    run->end(host, FLOWPIPE_ENDING_STOPPED, "from beyond", 11);
    host->log(host, FLOWPIPE_LEVEL_ERROR, "from beyond", 11);
    host->set_error(host, FLOWPIPE_ERROR, "from beyond", 11);
  }
  flowpipe_frame_t *copy = host->frame_ref(host, kept->frame);
  uint8_t *pixels = host->frame_write(host, &copy);
  int written = 0, sum = 0;
  if (pixels) {
    memset(pixels, 9, 100);
    written = pixels[99];
  }
  host->frame_unref(host, copy);
  host->frame_info(host, kept->frame, &info);
  const uint8_t *read = host->frame_read(host, kept->frame);
  for (uint64_t i = 0; i < info.size; i++) sum += read[i];
  snprintf(text, size, "clock %s, makes frames %d, ending %d, dry %d, pixels %d, written %d", is_revoked ? "revoked" : "going",
           made != NULL, ending, dry, sum, written);
  return is_revoked;
}

/* In one write, so that lines of several processes do not mix. */
static void report(const char *where, const char *text) {
  char line[256];
  int length = snprintf(line, sizeof line, "outliving in a %s: %s\n", where, text);
  if (write(2, line, (size_t)length) < 0) abort();
}

static void *use_for_ever(void *kept) {
  char text[160];
  while (!use_all(kept, text, sizeof text)) {
  }
  report("thread", text);
  atomic_fetch_add(&reported, 1);
  for (;;) use_all(kept, text, sizeof text);
  return NULL;
}

__attribute__((destructor)) static void at_end(void) {
  char text[160];
  for (kept_t *kept = all; kept; kept = kept->next) {
    use_all(kept, text, sizeof text);
    report("destructor", text);
  }
}

static flowpipe_status_t fine(flowpipe_stage_t *stage) {
  (void)stage;
  return FLOWPIPE_OK;
}

static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  const flowpipe_message_t *in = call->message;
  if (call->event != FLOWPIPE_EVENT_MESSAGE) return FLOWPIPE_OK;
  const flowpipe_host_t *host = ((kept_t *)stage)->host;
  flowpipe_output_t output = {sizeof output, 0, NULL, in->json, in->json_length, in->frame, 0};
  return host->emit(host, call->context, &output);
}

static void deactivate(flowpipe_stage_t *stage) { (void)stage; }

/* The last one gives the threads of the others, which are destroyed by then, time to report what they see. */
static void destroy(flowpipe_stage_t *stage) {
  (void)stage;
  int others = atomic_fetch_add(&destroyed, 1);
  struct timespec pause = {0, 1000000};
  for (int i = 0; i < 20000 && others + 1 == stages && reported < others; i++) nanosleep(&pause, NULL);
}

static const void *extension(flowpipe_stage_t *stage, const char *id) {
  (void)stage, (void)id;
  return NULL;
}

static uint32_t count(void) { return 1; }

static const char *manifest(uint32_t index) {
  return index ? NULL
               : "{\"name\":\"outliving\",\"role\":\"stage\",\"version\":\"1\",\"effects\":[],"
                 "\"inputs\":[{\"name\":\"in\",\"schema\":\"flowpipe.sighting/1\"}],"
                 "\"outputs\":[{\"name\":\"out\",\"schema\":\"flowpipe.sighting/1\"}],\"config\":{\"type\":\"object\"}}";
}

static flowpipe_stage_t *create(const flowpipe_host_t *host, uint32_t index, const char *config,
                                const flowpipe_document_t *document) {
  (void)index, (void)config, (void)document;
  flowpipe_frame_info_t info = {sizeof info, FLOWPIPE_FORMAT_GREY8, 10, 10, 10, 0};
  flowpipe_frame_t *frame = host->frame_new(host, &info);
  uint8_t *pixels = host->frame_write(host, &frame);
  kept_t *kept = calloc(1, sizeof *kept);
  if (!pixels || !kept) return NULL;
  memset(pixels, 7, 100);
  kept->stage = (flowpipe_stage_t){sizeof kept->stage, 0, kept, fine, process, fine, deactivate, destroy, extension};
  kept->host = host;
  kept->frame = frame;
  kept->next = all;
  all = kept;
  atomic_fetch_add(&stages, 1);
  pthread_t thread;
  if (pthread_create(&thread, NULL, use_for_ever, kept)) return NULL;
  return &kept->stage;
}

static flowpipe_status_t init(const flowpipe_host_t *host) {
  (void)host;
  return FLOWPIPE_OK;
}

static void deinit(void) {}

static const void *get_factory(const char *id) {
  static const flowpipe_stage_factory_t factory = {sizeof factory, 0, count, manifest, create};
  return strcmp(id, FLOWPIPE_FACTORY_STAGES) == 0 ? &factory : NULL;
}

FLOWPIPE_EXPORT const flowpipe_entry_t flowpipe_entry = {
    FLOWPIPE_MAGIC, FLOWPIPE_ABI_MAJOR, FLOWPIPE_ABI_MINOR, sizeof(flowpipe_entry_t), 0, init, deinit, get_factory};
