/*
 * flowpipe.h - the border between flowpipe and its plugins.
 *
 * A plugin is a dynamic library that exports one data symbol, `flowpipe_entry`. Everything else is
 * reached from there: entry -> factory -> stage. The host hands each stage a table of its own,
 * `flowpipe_host_t`, through which the stage logs, reports errors, allocates frames and emits.
 *
 * Rules that hold everywhere
 * - Text is UTF-8. `const char *` alone is NUL-terminated; a pointer with a length is not.
 * - A struct that may grow begins with `struct_size`, set by whoever fills it in. A reader looks at
 *   no field beyond it. Existing slots never change (0.1 is frozen); what comes later comes as an
 *   extension id with its own version (`flowpipe.state/1`), or at the end of a struct with a new
 *   FLOWPIPE_ABI_MINOR.
 * - Messages grow too: a reader ignores fields that it does not know. What changes the meaning of
 *   the others comes as a new version of the schema id.
 * - Nothing thrown may cross the border: no C++ exception, no Rust panic, no longjmp.
 * - Borrowed pointers live until the call that handed them over returns, unless said otherwise.
 * - Thread tags close the comments:
 *     [control-thread] one thread at a time, never while a [stage-thread] call of that stage runs;
 *     [stage-thread]   the thread that runs the stage, one call at a time; the host may move a
 *                      stage to another thread between two calls;
 *     [any-thread]     at any time from any thread.
 *
 * Life of a stage
 *     create -> activate -> process* -> deactivate -> destroy
 *                  ^  reset  |              |
 *                  +---------+--------------+   (a deactivated stage may be activated again)
 */
#ifndef FLOWPIPE_H
#define FLOWPIPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "FLOWPIPE" read as a little-endian number. */
#define FLOWPIPE_MAGIC UINT64_C(0x45504950574f4c46)

/* The number of this border, not of the release. A plugin loads when its major is equal to the
 * host's and the minor that it needs is no larger than the host's. */
#define FLOWPIPE_ABI_MAJOR 0
#define FLOWPIPE_ABI_MINOR 1

/* The factory that get_factory is asked for. */
#define FLOWPIPE_FACTORY_STAGES "flowpipe.stages/1"

#if defined(_WIN32)
#define FLOWPIPE_EXPORT __declspec(dllexport)
#else
#define FLOWPIPE_EXPORT __attribute__((visibility("default")))
#endif

typedef struct flowpipe_host flowpipe_host_t;
typedef struct flowpipe_stage flowpipe_stage_t;
typedef struct flowpipe_frame flowpipe_frame_t;       /* opaque, owned by the host */
typedef struct flowpipe_document flowpipe_document_t; /* opaque, owned by the host: parsed JSON */
typedef struct flowpipe_context flowpipe_context_t;   /* opaque, owned by the host: one process call */

/* ------------------------------------------------------------------ status */

typedef int32_t flowpipe_status_t;
#define FLOWPIPE_OK 0
#define FLOWPIPE_END 1               /* from process: this stage has nothing more to give */
#define FLOWPIPE_ERROR (-1)          /* failed; say why with set_error */
#define FLOWPIPE_CANCELLED (-2)      /* gave up because cancelled() said so */
#define FLOWPIPE_BAD_CONFIG (-3)     /* the config can't be used; say why with set_error */
#define FLOWPIPE_BAD_MESSAGE (-4)    /* a message that can't be read (or, from emit, was refused) */
#define FLOWPIPE_PANIC (-5)          /* the plugin caught a panic of its own */
#define FLOWPIPE_STOPPED (-6)        /* from emit: nobody takes this any more; return soon */
#define FLOWPIPE_NOT_FOUND (-7)      /* from getters: nothing at that place */
#define FLOWPIPE_WRONG_TYPE (-8)     /* from getters: something else is at that place */

/* ------------------------------------------------------------------- level */

typedef uint32_t flowpipe_level_t;
#define FLOWPIPE_LEVEL_ERROR 1
#define FLOWPIPE_LEVEL_WARN 2
#define FLOWPIPE_LEVEL_INFO 3
#define FLOWPIPE_LEVEL_DEBUG 4
#define FLOWPIPE_LEVEL_TRACE 5

/* ------------------------------------------------------------------ frames */

typedef uint32_t flowpipe_format_t;
#define FLOWPIPE_FORMAT_BGRA8 1 /* 4 bytes a pixel: blue, green, red, alpha or unused */
#define FLOWPIPE_FORMAT_RGBA8 2 /* 4 bytes a pixel: red, green, blue, alpha or unused */
#define FLOWPIPE_FORMAT_BGR8 3  /* 3 bytes a pixel */
#define FLOWPIPE_FORMAT_RGB8 4  /* 3 bytes a pixel */
#define FLOWPIPE_FORMAT_GREY8 5 /* 1 byte a pixel */

/* How the pixels of a frame lie in memory: rows from top to bottom, pixels from left to right. */
typedef struct flowpipe_frame_info {
  uint32_t struct_size;
  flowpipe_format_t format;
  uint32_t width;  /* pixels */
  uint32_t height; /* pixels */
  uint64_t stride; /* bytes from one row to the next; in frame_new 0 asks for the host's choice */
  uint64_t size;   /* bytes in all = stride * height; frame_new ignores it */
} flowpipe_frame_info_t;

/* ---------------------------------------------------------------- messages */

/* When one stage had a message in hand, by the host's clock. */
typedef struct flowpipe_hop {
  uint32_t stage; /* the host's number of the stage, in the order of the pipeline file */
  uint32_t reserved;
  int64_t taken_ns;   /* taken from the queue (a source: process was called) */
  int64_t emitted_ns; /* emitted */
} flowpipe_hop_t;

/* Where a message comes from. */
typedef struct flowpipe_lineage {
  uint32_t struct_size;
  uint32_t hop_count;
  uint64_t sequence;       /* its own number, from 1, in order of emission by its stage's port */
  uint64_t frame_sequence; /* the frame that it descends from; 0: none */
  int64_t captured_ns;     /* host clock when that frame was captured; 0 with frame_sequence 0 */
  const flowpipe_hop_t *hops; /* hop_count of them, oldest first; the newest 256 at most */
} flowpipe_lineage_t;

/* A message as a stage receives it. */
typedef struct flowpipe_message {
  uint32_t struct_size;
  uint32_t port;      /* index among the inputs of the stage's manifest */
  const char *schema; /* such as "flowpipe.sighting/1" */
  const char *json;   /* the body, json_length bytes of valid JSON, NUL-terminated besides */
  size_t json_length;
  const flowpipe_document_t *document; /* the same body for the getters, parsed when first asked */
  flowpipe_frame_t *frame;             /* borrowed; NULL when the message carries no pixels */
  const flowpipe_lineage_t *lineage;
} flowpipe_message_t;

/* A message as a stage emits it. The host copies the JSON and takes its own reference to the frame. */
typedef struct flowpipe_output {
  uint32_t struct_size;
  uint32_t port;      /* index among the outputs of the stage's manifest */
  const char *schema; /* NULL: the schema that the manifest gives for the port */
  const char *json;   /* NULL: "{}" */
  size_t json_length;
  flowpipe_frame_t *frame; /* NULL: no pixels */
  int64_t captured_ns;     /* for a new frame: when it was captured, 0 = now. Else ignored: the
                              lineage of the message in process is carried on */
} flowpipe_output_t;

/* Why process is called. */
typedef uint32_t flowpipe_event_t;
#define FLOWPIPE_EVENT_TICK 1    /* a stage without inputs: produce, then return */
#define FLOWPIPE_EVENT_MESSAGE 2 /* one message came */
#define FLOWPIPE_EVENT_FINISH 3  /* all inputs have ended: emit what is still held; the last call */

typedef struct flowpipe_process {
  uint32_t struct_size;
  flowpipe_event_t event;
  const flowpipe_message_t *message; /* NULL unless FLOWPIPE_EVENT_MESSAGE */
  flowpipe_context_t *context;       /* goes back to emit, cancelled and mark; dead after return */
} flowpipe_process_t;

/* -------------------------------------------------------------------- host */

/* The host, as one stage (or, in init, one library) sees it. Valid until that stage is destroyed
 * (that library's deinit returned): not a thread of the plugin may use it later. Where create makes
 * no stage, it is valid until create returns. Frames live as long as a reference to them, and so do
 * their pixels. Every slot is set. */
struct flowpipe_host {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  const char *name;    /* "flowpipe" */
  const char *version; /* the release, for logs only */
  void *data;          /* the host's own; leave it alone */

  /* Writes a line to the host's log under the stage's name. [any-thread] */
  void (*log)(const flowpipe_host_t *host, flowpipe_level_t level, const char *text, size_t length);
  /* Says why the call that is about to return a negative status failed. The last one counts.
   * [control-thread, stage-thread] */
  void (*set_error)(const flowpipe_host_t *host, int32_t code, const char *text, size_t length);
  /* Nanoseconds since the run began, never going back. The only clock a plugin takes time from:
   * in a replay it is the recording's. [any-thread] */
  int64_t (*clock_now)(const flowpipe_host_t *host);

  /* A frame with one reference, its bytes unspecified (buffers are recycled). NULL when the info
   * makes no sense or memory is short. [any-thread] */
  flowpipe_frame_t *(*frame_new)(const flowpipe_host_t *host, const flowpipe_frame_info_t *info);
  /* One more reference; returns its argument. [any-thread] */
  flowpipe_frame_t *(*frame_ref)(const flowpipe_host_t *host, flowpipe_frame_t *frame);
  /* One reference less; the last one recycles the buffer. NULL is ignored. [any-thread] */
  void (*frame_unref)(const flowpipe_host_t *host, flowpipe_frame_t *frame);
  /* Fills in *info (set info->struct_size first). [any-thread] */
  void (*frame_info)(const flowpipe_host_t *host, const flowpipe_frame_t *frame,
                     flowpipe_frame_info_t *info);
  /* The pixels, to read, while a reference is held. [any-thread] */
  const uint8_t *(*frame_read)(const flowpipe_host_t *host, const flowpipe_frame_t *frame);
  /* The pixels, to write. When others hold references too, *frame becomes a copy and the caller's
   * reference to the old one is given up. NULL when memory is short. [any-thread] */
  uint8_t *(*frame_write)(const flowpipe_host_t *host, flowpipe_frame_t **frame);

  /* Sends a message out of a port. Waits while a blocking queue is full. Returns FLOWPIPE_OK,
   * FLOWPIPE_STOPPED (nobody takes it any more: return soon), FLOWPIPE_BAD_MESSAGE (no such port,
   * wrong schema, not JSON, or refused by the host's checks; why is in the log).
   * [stage-thread, inside process] */
  flowpipe_status_t (*emit)(const flowpipe_host_t *host, flowpipe_context_t *context,
                            const flowpipe_output_t *output);
  /* Nonzero when the work in hand is not wanted any more: ask now and then, and return
   * FLOWPIPE_CANCELLED soon. [any-thread, inside process] */
  int32_t (*cancelled)(const flowpipe_host_t *host, const flowpipe_context_t *context);
  /* Notes that something of that name happened now. The host reports the time from the capture of
   * the frame in hand to its first mark of each name; actuators mark "action" at the first press.
   * [stage-thread, inside process] */
  void (*mark)(const flowpipe_host_t *host, flowpipe_context_t *context, const char *name);

  /* Getters, so that a plugin in C needs no JSON parser. `pointer` is a JSON Pointer (RFC 6901):
   * "/puzzle/board/rows"; "" is the whole document. They return FLOWPIPE_OK, FLOWPIPE_NOT_FOUND or
   * FLOWPIPE_WRONG_TYPE, and write *value only with FLOWPIPE_OK. [any-thread] */
  flowpipe_status_t (*get_bool)(const flowpipe_host_t *host, const flowpipe_document_t *document,
                                const char *pointer, int32_t *value);
  flowpipe_status_t (*get_int)(const flowpipe_host_t *host, const flowpipe_document_t *document,
                               const char *pointer, int64_t *value);
  flowpipe_status_t (*get_number)(const flowpipe_host_t *host, const flowpipe_document_t *document,
                                  const char *pointer, double *value);
  /* The text lives as long as the document. It is not NUL-terminated. */
  flowpipe_status_t (*get_string)(const flowpipe_host_t *host, const flowpipe_document_t *document,
                                  const char *pointer, const char **value, size_t *length);
  /* How many elements an array, or members an object, has. */
  flowpipe_status_t (*get_count)(const flowpipe_host_t *host, const flowpipe_document_t *document,
                                 const char *pointer, size_t *value);

  /* A table of later functions by id, or NULL. [any-thread] */
  const void *(*get_extension)(const flowpipe_host_t *host, const char *id);

  /* Waits until the host's clock reads `deadline_ns`. The time counts neither as the stage's work
   * nor towards its timeout. Returns FLOWPIPE_OK, or FLOWPIPE_CANCELLED as soon as the work in hand
   * is not wanted any more. [stage-thread, inside process] */
  flowpipe_status_t (*wait_until)(const flowpipe_host_t *host, flowpipe_context_t *context,
                                  int64_t deadline_ns);
};

/* ------------------------------------------- extension of the host: the run */

/* What a stage may know of the run that it is part of, and ask of it:
 * host->get_extension(host, FLOWPIPE_EXTENSION_RUN) is a flowpipe_run_t, or NULL. */
#define FLOWPIPE_EXTENSION_RUN "flowpipe.run/1"

typedef uint32_t flowpipe_ending_t;
#define FLOWPIPE_ENDING_DONE 1    /* what was to be done is done: stages end after the message in hand */
#define FLOWPIPE_ENDING_STOPPED 2 /* a person, or what protects one, says stop: all work is cancelled */

typedef struct flowpipe_run {
  uint32_t struct_size;
  uint32_t reserved;
  /* Nonzero as soon as the run ends for another reason than that its sources have run out: somebody
   * asked for it, or a stage failed. Whoever acts on the world stops then. [any-thread] */
  int32_t (*is_ending)(const flowpipe_host_t *host);
  /* Nonzero: nothing outside of the program is to be touched. Stages that would say in the log what
   * they would have done. [any-thread] */
  int32_t (*is_dry)(const flowpipe_host_t *host);
  /* Ends the run; the text says why. The first one counts. [any-thread] */
  void (*end)(const flowpipe_host_t *host, flowpipe_ending_t how, const char *text, size_t length);
} flowpipe_run_t;

/* ------------------------------------ extension of the host: lasting frames */

/* The frame functions for references that a stage may keep beyond its destroy:
 * host->get_extension(host, FLOWPIPE_EXTENSION_FRAMES) is a flowpipe_frames_t, or NULL with older
 * hosts. Table and functions last as long as the process and need no host; each does what the
 * host's slot does that is named. [any-thread] */
#define FLOWPIPE_EXTENSION_FRAMES "flowpipe.frames/1"

typedef struct flowpipe_frames {
  uint32_t struct_size;
  uint32_t reserved;
  flowpipe_frame_t *(*add_reference)(flowpipe_frame_t *frame);                /* frame_ref */
  void (*release)(flowpipe_frame_t *frame);                                   /* frame_unref */
  void (*info)(const flowpipe_frame_t *frame, flowpipe_frame_info_t *info);   /* frame_info */
  const uint8_t *(*read)(const flowpipe_frame_t *frame);                      /* frame_read */
  uint8_t *(*write)(flowpipe_frame_t **frame);                                /* frame_write */
} flowpipe_frames_t;

/* ------------------------------------------------------------------- stage */

/* One running stage. Made by the factory; the plugin keeps its own state in `data`. */
struct flowpipe_stage {
  uint32_t struct_size;
  uint32_t reserved;
  void *data;

  /* Gets ready to process: opens devices, allocates. [control-thread] */
  flowpipe_status_t (*activate)(flowpipe_stage_t *stage);
  /* Does the work that process->event asks for. FLOWPIPE_END from any event: the stage is done, the
   * host calls it no more and ends its outputs. [stage-thread, active] */
  flowpipe_status_t (*process)(flowpipe_stage_t *stage, const flowpipe_process_t *process);
  /* Forgets what earlier messages left behind, as if just activated. [stage-thread, active] */
  flowpipe_status_t (*reset)(flowpipe_stage_t *stage);
  /* The opposite of activate. [control-thread] */
  void (*deactivate)(flowpipe_stage_t *stage);
  /* Frees the stage; after it the pointer is dead. [control-thread, not active] */
  void (*destroy)(flowpipe_stage_t *stage);
  /* A table of later functions by id, or NULL. [any-thread] */
  const void *(*get_extension)(flowpipe_stage_t *stage, const char *id);
};

/* ---------------------------------------- extension of a stage: its state */

/* A stage that remembers something worth keeping can hand it over to the stage that takes its place
 * in a running pipeline: stage->get_extension(stage, FLOWPIPE_EXTENSION_STATE) is a flowpipe_state_t,
 * or NULL. The host asks the old stage to save and the new one to load, both active, between the
 * last process of the old one and the first of the new one. When either fails, the old one goes on:
 * saving changes nothing. */
#define FLOWPIPE_EXTENSION_STATE "flowpipe.state/1"

typedef struct flowpipe_state_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *data; /* the host's own */
  /* Takes the state: `format` names what it means and its version ("referee-repair/1"), the JSON is
   * copied. The last one counts. [control-thread, inside save] */
  void (*put)(const struct flowpipe_state_sink *sink, const char *format, const char *json,
              size_t json_length);
} flowpipe_state_sink_t;

typedef struct flowpipe_state {
  uint32_t struct_size;
  uint32_t reserved;
  /* Puts what is to be kept into the sink. [control-thread, active] */
  flowpipe_status_t (*save)(flowpipe_stage_t *stage, const flowpipe_state_sink_t *sink);
  /* Takes over what another stage has put there; `document` is the same for the getters, and all is
   * borrowed for the call. FLOWPIPE_NOT_FOUND: it does not know the format. That is as if there were
   * no state when the other is another plugin, and keeps the old one in its place when it is an
   * earlier or later build of the same. Other negative statuses keep the old one too; say why with
   * set_error. [control-thread, active, before the first process] */
  flowpipe_status_t (*load)(flowpipe_stage_t *stage, const char *format, const char *json,
                            size_t json_length, const flowpipe_document_t *document);
} flowpipe_state_t;

/* ----------------------------------------------------------------- factory */

/*
 * A manifest is a JSON object:
 *   { "name": "solver-varisat", "version": "0.1.0", "role": "solver", "doc": "One paragraph.",
 *     "inputs":  [ { "name": "in",  "schema": "flowpipe.sighting/1" } ],
 *     "outputs": [ { "name": "out", "schema": "flowpipe.solved/1" } ],
 *     "config":  { a JSON Schema of type object },
 *     "supports": [ "holes", "walls" ],
 *     "deterministic": true, "panic": "unwind",
 *     "effects": [ { "effect": "writes-files", "key": "log", "doc": "writes a log to {log}" } ] }
 * role is capture, vision, solver, planner, actuator or stage. A stage without inputs is a source.
 * supports is for people: what the stage takes, where its role leaves a choice. It may be left out.
 *
 * effects declares what the stage does to the world outside of the program; []: nothing. Left out, or
 * with an effect that the host does not know: the stage may do anything, and a replay does not run it.
 *   effect  one of the ids below, FLOWPIPE_EFFECT_...
 *   key     optional: the top-level key of the config without which the effect does not happen; null
 *           and false are as if it were not there. A replay drops such keys.
 *   paths   optional: the keys of the config that name the files or folders; without it, key does.
 *   doc     a short phrase for people. {key} stands for a value of the config; what is in square
 *           brackets is left out when a value in it is not set.
 */
#define FLOWPIPE_EFFECT_READS_FILES "reads-files"     /* reads files or folders */
#define FLOWPIPE_EFFECT_WRITES_FILES "writes-files"   /* creates, changes or removes files or folders */
#define FLOWPIPE_EFFECT_RUNS_COMMANDS "runs-commands" /* starts other programs */
#define FLOWPIPE_EFFECT_READS_SCREEN "reads-screen"   /* sees what is on the screen */
#define FLOWPIPE_EFFECT_DRIVES_MOUSE "drives-mouse"   /* moves the pointer, presses buttons or keys */
#define FLOWPIPE_EFFECT_USES_NETWORK "uses-network"   /* talks to other machines */

typedef struct flowpipe_stage_factory {
  uint32_t struct_size;
  uint32_t reserved;
  /* How many stages this library has. [any-thread] */
  uint32_t (*count)(void);
  /* The manifest of stage `index`, alive as long as the library. NULL: no such index. Creates no
   * stage. [any-thread] */
  const char *(*manifest)(uint32_t index);
  /* Makes stage `index`, or returns NULL after host->set_error with FLOWPIPE_BAD_CONFIG or
   * FLOWPIPE_ERROR. `config` is a JSON object that fits the manifest's schema, defaults not filled
   * in; `document` is the same for the getters. Both are borrowed for the call; `host` stays valid
   * until destroy returns. [control-thread] */
  flowpipe_stage_t *(*create)(const flowpipe_host_t *host, uint32_t index, const char *config,
                              const flowpipe_document_t *document);
} flowpipe_stage_factory_t;

/* ------------------------------------------------------------------- entry */

typedef struct flowpipe_entry {
  uint64_t magic;     /* FLOWPIPE_MAGIC */
  uint32_t abi_major; /* FLOWPIPE_ABI_MAJOR */
  uint32_t abi_minor; /* the lowest minor that this plugin needs */
  uint32_t struct_size;
  uint32_t reserved;
  /* Called once after loading, before anything else. A negative status refuses the library.
   * [control-thread] */
  flowpipe_status_t (*init)(const flowpipe_host_t *host);
  /* Called once when no stage lives any more. The library itself is never unloaded.
   * [control-thread] */
  void (*deinit)(void);
  /* The table for a factory id, or NULL. [any-thread] */
  const void *(*get_factory)(const char *id);
} flowpipe_entry_t;

/* Define it in one file of the plugin:
 *   FLOWPIPE_EXPORT const flowpipe_entry_t flowpipe_entry = { FLOWPIPE_MAGIC, ... }; */
extern FLOWPIPE_EXPORT const flowpipe_entry_t flowpipe_entry;

#ifdef __cplusplus
}
#endif

#endif /* FLOWPIPE_H */
