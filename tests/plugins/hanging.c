/* A source, or a sink, that does not come back: from being created, from being destroyed, or from a call if its config
 * says so. */
#include <flowpipe.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hang(void) {
  for (;;) sleep(1000);
}

static flowpipe_status_t fine(flowpipe_stage_t *stage) {
  (void)stage;
  return FLOWPIPE_OK;
}

static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  (void)call;
  if (stage->data) hang();
  return FLOWPIPE_END;
}

static void deactivate(flowpipe_stage_t *stage) { (void)stage; }

static void destroy(flowpipe_stage_t *stage) {
#ifdef HANG_IN_DESTROY
  hang();
#endif
  free(stage);
}

static const void *extension(flowpipe_stage_t *stage, const char *id) {
  (void)stage, (void)id;
  return NULL;
}

static uint32_t count(void) { return 1; }

#ifdef SINK
#define PORTS "\"role\":\"stage\",\"inputs\":[{\"name\":\"in\",\"schema\":\"*\"}],\"outputs\":[],"
#else
#define PORTS "\"role\":\"capture\",\"inputs\":[],\"outputs\":[{\"name\":\"out\",\"schema\":\"flowpipe.frame/1\"}],"
#endif

static const char *manifest(uint32_t index) {
  return index ? NULL
               : "{\"name\":\"hanging\",\"version\":\"1\",\"deterministic\":true,\"effects\":[]," PORTS "\"config\":"
                 "{\"type\":\"object\",\"properties\":{\"hang\":{\"type\":\"boolean\"}}}}";
}

static flowpipe_stage_t *create(const flowpipe_host_t *host, uint32_t index, const char *config,
                                const flowpipe_document_t *document) {
  (void)host, (void)index, (void)document;
#ifdef HANG_IN_CREATE
  hang();
#endif
  static char yes;
  void *hangs = config && strstr(config, "true") ? &yes : NULL;
  flowpipe_stage_t *stage = calloc(1, sizeof *stage);
  if (stage) *stage = (flowpipe_stage_t){sizeof *stage, 0, hangs, fine, process, fine, deactivate, destroy, extension};
  return stage;
}

static flowpipe_status_t init(const flowpipe_host_t *host) {
  (void)host;
  (void)hang;
  return FLOWPIPE_OK;
}

static void deinit(void) {}

static const void *get_factory(const char *id) {
  static const flowpipe_stage_factory_t factory = {sizeof factory, 0, count, manifest, create};
  return strcmp(id, FLOWPIPE_FACTORY_STAGES) == 0 ? &factory : NULL;
}

FLOWPIPE_EXPORT const flowpipe_entry_t flowpipe_entry = {FLOWPIPE_MAGIC, FLOWPIPE_ABI_MAJOR, FLOWPIPE_ABI_MINOR,
                                                         sizeof(flowpipe_entry_t), 0, init, deinit, get_factory};
