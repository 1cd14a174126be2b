
/* -------- The rest needs no changes: a library of one stage that keeps no state between messages. */

static flowpipe_status_t ok(flowpipe_stage_t *stage) {
  (void)stage;
  return FLOWPIPE_OK;
}

static void nothing(flowpipe_stage_t *stage) { (void)stage; }

static void destroy(flowpipe_stage_t *stage) { free(stage); }

static const void *no_extension(flowpipe_stage_t *stage, const char *id) {
  (void)stage, (void)id;
  return NULL;
}

static flowpipe_stage_t *create(const flowpipe_host_t *host, uint32_t index, const char *config,
                                const flowpipe_document_t *document) {
  (void)index, (void)config;
  plugin_t *plugin = calloc(1, sizeof *plugin);
  if (!plugin) return NULL;
  plugin->stage = (flowpipe_stage_t){ sizeof(flowpipe_stage_t), 0, NULL, ok, process, ok, nothing, destroy, no_extension };
  plugin->host = host;
  configure(plugin, document);
  return &plugin->stage;
}

static uint32_t count(void) { return 1; }
static const char *manifest(uint32_t index) { return index == 0 ? manifest_text : NULL; }
static const flowpipe_stage_factory_t factory = { sizeof factory, 0, count, manifest, create };

static flowpipe_status_t init(const flowpipe_host_t *host) {
  (void)host;
  return FLOWPIPE_OK;
}

static void deinit(void) {}

static const void *get_factory(const char *id) { return strcmp(id, FLOWPIPE_FACTORY_STAGES) ? NULL : &factory; }

FLOWPIPE_EXPORT const flowpipe_entry_t flowpipe_entry = {
  FLOWPIPE_MAGIC, FLOWPIPE_ABI_MAJOR, FLOWPIPE_ABI_MINOR, sizeof flowpipe_entry, 0, init, deinit, get_factory
};
