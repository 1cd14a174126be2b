/* A check of gestures, which check-messages judges too. It accepts all of them, or as it is compiled refuses them
 * (-DREFUSES="text") or gives no verdict (-DFAILS="text"). -DNAME="text" gives it another name. */
#include "flowpipe.h"
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#define NAME "check-house"
#endif

static const char manifest_text[] =
    "{ \"name\": \"" NAME "\", \"version\": \"0.1.0\", \"role\": \"check\", \"doc\": \"The rules of the house.\","
    "  \"inputs\": [{ \"name\": \"in\", \"schema\": \"flowpipe.gestures/1\" }], \"outputs\": [],"
    "  \"config\": { \"type\": \"object\", \"additionalProperties\": false },"
    "  \"deterministic\": true, \"effects\": [], \"panic\": \"abort\" }";

static flowpipe_status_t judge(flowpipe_stage_t *stage, const flowpipe_message_t *parent,
                               const flowpipe_message_t *message, flowpipe_judgement_t *judgement) {
  (void)stage, (void)parent, (void)message;
#ifdef FAILS
  static const char why[] = FAILS;
  memcpy(judgement->reason, why, sizeof why - 1);
  judgement->length = sizeof why - 1;
  return FLOWPIPE_ERROR;
#elif defined REFUSES
  static const char reason[] = REFUSES;
  memcpy(judgement->reason, reason, sizeof reason - 1);
  judgement->length = sizeof reason - 1;
  judgement->verdict = FLOWPIPE_REFUSE;
#else
  judgement->verdict = FLOWPIPE_ACCEPT;
#endif
  return FLOWPIPE_OK;
}

static const flowpipe_check_t check = { sizeof check, 0, judge };

static flowpipe_status_t ok(flowpipe_stage_t *stage) {
  (void)stage;
  return FLOWPIPE_OK;
}

/* The host never calls these on a check. */
static flowpipe_status_t process(flowpipe_stage_t *stage, const flowpipe_process_t *call) {
  (void)stage, (void)call;
  abort();
}

static flowpipe_status_t reset(flowpipe_stage_t *stage) {
  (void)stage;
  abort();
}

static void nothing(flowpipe_stage_t *stage) { (void)stage; }

static void destroy(flowpipe_stage_t *stage) { free(stage); }

static const void *extension(flowpipe_stage_t *stage, const char *id) {
  (void)stage;
  return strcmp(id, FLOWPIPE_EXTENSION_CHECK) ? NULL : &check;
}

static flowpipe_stage_t *create(const flowpipe_host_t *host, uint32_t index, const char *config,
                                const flowpipe_document_t *document) {
  (void)host, (void)index, (void)config, (void)document;
  flowpipe_stage_t *stage = malloc(sizeof *stage);
  if (!stage) return NULL;
  *stage = (flowpipe_stage_t){ sizeof *stage, 0, NULL, ok, process, reset, nothing, destroy, extension };
  return stage;
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
