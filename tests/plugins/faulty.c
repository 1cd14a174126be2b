/* Stages with one fault each, for `flowpipe plugin check` to find, and one without that seems to have one. */
#include <flowpipe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* A compiler that sees a null pointer may leave out what is done with it. */
static int *volatile nowhere;

#ifdef CRASHES_WHEN_LOADED
__attribute__((constructor)) static void crash(void) { *nowhere = 1; }
#endif

typedef struct {
  flowpipe_stage_t stage; /* first, so that the host's pointer is ours */
  const flowpipe_host_t *host;
  uint32_t index;
  int64_t calls; /* what it remembers */
  pthread_t maker; /* the thread that made it */
} faulty_t;

enum {
  LEAKS,
  LEAVES_THREADS,
  LEAVES_FILES,
  KEEPS_FRAMES,
  CRASHES,
  HANGS,
  CHANGES,
  LIES,
  BAD_DEFAULT,
  MADE_NEVER,
  REPORTS_AGE,
  FORGETS,
  SPENDS,
  TRUSTS,
  REFUSES,
  ENDS_THE_PROCESS,
  PRINTS,
  CLOSES_FILES,
  LEAVES_PROCESSES,
  PANICS_ELSEWHERE,
  CHANGES_ELSEWHERE,
  PANICS_WHEN_CANCELLED,
  SLOW,
  NEEDS_A_CONFIG,
};

static void *sleep_for_ever(void *nothing) {
  for (;;) sleep(1000);
  return nothing;
}

/* Reports to a test which process this is. */
static void note(pid_t process) {
  const char *path = getenv("FAULTY_NOTE");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) fprintf(file, "%d\n", (int)process), fclose(file);
}

static flowpipe_status_t emit(faulty_t *self, const flowpipe_process_t *process, const char *answer) {
  /* The sighting is forwarded as it came, in the same answer to everything. */
  const flowpipe_message_t *in = process->message;
  size_t size = in->json_length + strlen(answer) + 64;
  char *json = malloc(size);
  int length = snprintf(json, size, "{\"solver\":\"faulty\",\"answer\":%s,\"sighting\":%s}", answer, in->json);
  flowpipe_output_t output = {sizeof output, 0, NULL, json, (size_t)length, NULL, 0};
  flowpipe_status_t status = self->host->emit(self->host, process->context, &output);
  free(json);
  return status;
}

static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  static int calls = 0;
  faulty_t *self = stage->data;
  char answer[64];
  int64_t rows, age;
  pid_t child;
  if (call->event != FLOWPIPE_EVENT_MESSAGE) return FLOWPIPE_OK;
  const flowpipe_document_t *document = call->message->document;
  int is_board = self->host->get_int(self->host, document, "/reading/puzzle/board/rows", &rows) == FLOWPIPE_OK;
  switch (self->index) {
    case KEEPS_FRAMES:
      if (call->message->frame) self->host->frame_ref(self->host, call->message->frame);
      return FLOWPIPE_OK;
    case CRASHES:
      if (!is_board) *nowhere = 1;
      return FLOWPIPE_OK;
    case HANGS:
      note(getpid());
      for (;;) sleep(1000);
    case CHANGES:
      snprintf(answer, sizeof answer, "{\"verdict\":\"unknown\",\"reason\":\"call %d\"}", ++calls);
      return emit(self, call, answer);
    case REPORTS_AGE:
      age = self->host->clock_now(self->host) - call->message->lineage->captured_ns;
      snprintf(answer, sizeof answer, "{\"verdict\":\"unknown\",\"reason\":\"%lld ns\"}", (long long)age);
      return emit(self, call, answer);
    case FORGETS:
    case SPENDS:
    case TRUSTS:
    case REFUSES:
      snprintf(answer, sizeof answer, "{\"verdict\":\"unknown\",\"reason\":\"call %d\"}", (int)++self->calls);
      return emit(self, call, answer);
    case LIES:
      return is_board ? emit(self, call, "{\"verdict\":\"unsolvable\"}") : FLOWPIPE_OK;
    case ENDS_THE_PROCESS:
      _exit(0);
    case PRINTS: /* what is no text, and no whole line */
      if (write(1, "at work \xff", 9) < 0) return FLOWPIPE_ERROR;
      return is_board ? emit(self, call, "{\"verdict\":\"unsolvable\"}") : FLOWPIPE_OK;
    case CLOSES_FILES:
      for (int file = 3; file < 256; file++) close(file);
      usleep(300000); /* for other threads to notice */
      return FLOWPIPE_OK;
    case LEAVES_PROCESSES: /* with all that is open here, and in a session of its own */
      if (calls++ > 0) return FLOWPIPE_OK;
      child = fork();
      if (child == 0) {
        setsid();
        sleep(600);
        _exit(0);
      }
      note(child);
      return FLOWPIPE_OK;
    case PANICS_ELSEWHERE:
      return pthread_equal(self->maker, pthread_self()) ? FLOWPIPE_OK : FLOWPIPE_PANIC;
    case CHANGES_ELSEWHERE:
      return emit(self, call,
                  pthread_equal(self->maker, pthread_self()) ? "{\"verdict\":\"unknown\",\"reason\":\"at home\"}"
                                                             : "{\"verdict\":\"unknown\",\"reason\":\"away\"}");
    case PANICS_WHEN_CANCELLED:
      while (!self->host->cancelled(self->host, call->context)) usleep(1000);
      return FLOWPIPE_PANIC;
    case SLOW:
      sleep(1);
      return FLOWPIPE_OK;
    default:
      return FLOWPIPE_OK;
  }
}

static flowpipe_status_t fine(flowpipe_stage_t *stage) {
  (void)stage;
  return FLOWPIPE_OK;
}

static void deactivate(flowpipe_stage_t *stage) { (void)stage; }

static void destroy(flowpipe_stage_t *stage) { free(stage); }

#define FORMAT "faulty/1"

static flowpipe_status_t save(flowpipe_stage_t *stage, const flowpipe_state_sink_t *sink) {
  faulty_t *self = stage->data;
  char json[64];
  int length = snprintf(json, sizeof json, "{\"calls\":%d}", (int)self->calls);
  sink->put(sink, FORMAT, json, (size_t)length);
  if (self->index == SPENDS) self->calls = 0;
  return FLOWPIPE_OK;
}

static flowpipe_status_t load(flowpipe_stage_t *stage, const char *format, const char *json, size_t json_length,
                              const flowpipe_document_t *document) {
  faulty_t *self = stage->data;
  int64_t calls;
  (void)json, (void)json_length;
  if (self->index == FORGETS) return FLOWPIPE_OK;
  if (self->index == REFUSES || strcmp(format, FORMAT) != 0) return FLOWPIPE_NOT_FOUND;
  if (self->host->get_int(self->host, document, "/calls", &calls) != FLOWPIPE_OK) {
    if (self->index == TRUSTS) *nowhere = 1;
    return FLOWPIPE_ERROR;
  }
  self->calls = calls;
  return FLOWPIPE_OK;
}

static const void *extension(flowpipe_stage_t *stage, const char *id) {
  static const flowpipe_state_t state = {sizeof state, 0, save, load};
  faulty_t *self = stage->data;
  return self->index >= FORGETS && strcmp(id, FLOWPIPE_EXTENSION_STATE) == 0 ? &state : NULL;
}

#define STAGE(name, in, config)                                                                   \
  "{\"name\":\"" name "\",\"role\":\"solver\",\"version\":\"1\",\"deterministic\":true,\"effects\":[]," \
  "\"inputs\":[{\"name\":\"in\",\"schema\":\"" in "\"}],"                                         \
  "\"outputs\":[{\"name\":\"out\",\"schema\":\"flowpipe.solved/1\"}],"                            \
  "\"config\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{" config "}}}"
#define SIGHTING "flowpipe.sighting/1"

static const char *const manifests[] = {
    [LEAKS] = STAGE("leaks", SIGHTING, ""),
    [LEAVES_THREADS] = STAGE("leaves-threads", SIGHTING, ""),
    [LEAVES_FILES] = STAGE("leaves-files", SIGHTING, ""),
    [KEEPS_FRAMES] = STAGE("keeps-frames", "flowpipe.frame/1", ""),
    [CRASHES] = STAGE("crashes", SIGHTING, ""),
    [HANGS] = STAGE("hangs", SIGHTING, ""),
    [CHANGES] = STAGE("changes", SIGHTING, ""),
    [LIES] = STAGE("lies", SIGHTING, ""),
    [BAD_DEFAULT] = STAGE("bad-default", SIGHTING, "\"n\":{\"type\":\"integer\",\"default\":\"many\"}"),
    [MADE_NEVER] = STAGE("made-never", SIGHTING, ""),
    [REPORTS_AGE] = STAGE("reports-age", SIGHTING, ""),
    [FORGETS] = STAGE("forgets", SIGHTING, ""),
    [SPENDS] = STAGE("spends", SIGHTING, ""),
    [TRUSTS] = STAGE("trusts", SIGHTING, ""),
    [REFUSES] = STAGE("refuses", SIGHTING, ""),
    [ENDS_THE_PROCESS] = STAGE("ends-the-process", SIGHTING, ""),
    [PRINTS] = STAGE("prints", SIGHTING, ""),
    [CLOSES_FILES] = STAGE("closes-files", SIGHTING, ""),
    [LEAVES_PROCESSES] = STAGE("leaves-processes", SIGHTING, ""),
    [PANICS_ELSEWHERE] = STAGE("panics-elsewhere", SIGHTING, ""),
    [CHANGES_ELSEWHERE] = STAGE("changes-elsewhere", SIGHTING, ""),
    [PANICS_WHEN_CANCELLED] = STAGE("panics-when-cancelled", SIGHTING, ""),
    [SLOW] = STAGE("slow", SIGHTING, ""),
    [NEEDS_A_CONFIG] =
        STAGE("needs-a-config", SIGHTING, "\"key\":{\"type\":\"string\"}},\"required\":[\"key\"],\"$defs\":{"),
};

static uint32_t count(void) { return sizeof manifests / sizeof *manifests; }

static const char *manifest(uint32_t index) { return index < count() ? manifests[index] : NULL; }

static flowpipe_stage_t *create(const flowpipe_host_t *host, uint32_t index, const char *config,
                                const flowpipe_document_t *document) {
  static void *volatile leaked;
  pthread_t thread;
  (void)config, (void)document;
  if (index == MADE_NEVER) {
    host->set_error(host, FLOWPIPE_ERROR, "no licence", 10);
    return NULL;
  }
  if (index == LEAKS) leaked = malloc(100);
  if (index == LEAVES_THREADS) pthread_create(&thread, NULL, sleep_for_ever, NULL);
  if (index == LEAVES_FILES && dup(2) < 0) return NULL;
  (void)leaked;
  faulty_t *self = calloc(1, sizeof *self);
  self->stage = (flowpipe_stage_t){sizeof self->stage, 0,          self,    fine,        process,
                                   fine,               deactivate, destroy, extension};
  self->host = host;
  self->index = index;
  self->maker = pthread_self();
  return &self->stage;
}

static flowpipe_status_t init(const flowpipe_host_t *host) {
  (void)host;
#ifdef ENDS_WHEN_LOADED
  _exit(0);
#endif
  return FLOWPIPE_OK;
}

static void deinit(void) {}

static const void *get_factory(const char *id) {
  static const flowpipe_stage_factory_t factory = {sizeof factory, 0, count, manifest, create};
  return strcmp(id, FLOWPIPE_FACTORY_STAGES) == 0 ? &factory : NULL;
}

FLOWPIPE_EXPORT const flowpipe_entry_t flowpipe_entry = {FLOWPIPE_MAGIC, FLOWPIPE_ABI_MAJOR, FLOWPIPE_ABI_MINOR,
                                                         sizeof(flowpipe_entry_t), 0, init, deinit, get_factory};
