/*
 * flowpipe.h - the ABI between flowpipe and its plugins.
 *
 * A plugin is a dynamic library that exports one data symbol, `flowpipe_entry`. From it the host
 * reaches everything else: entry -> factory -> stage. The host passes its own table to each stage,
 * `flowpipe_host_t`, through which the stage logs, reports errors, allocates frames and emits.
 *
 * General rules
 * - Text is UTF-8. A `const char *` without a length is NUL-terminated; one with a length is not.
 * - A struct that may grow starts with `struct_size`, set by the side that fills it in. The reader
 *   accesses no field beyond it. Existing slots never change (0.1 is frozen). Additions are an
 *   extension id with its own version (`flowpipe.state/1`), or slots at the end of a struct with a
 *   new FLOWPIPE_ABI_MINOR.
 * - Messages grow too: a reader ignores fields that it does not know. A change of the meaning of
 *   existing fields requires a new version of the schema id.
 * - No exception of C++, panic of Rust or longjmp may cross the plugin boundary.
 * - A borrowed pointer is valid until the call that passed it returns, unless stated otherwise.
 * - Each comment ends with the threads on which the function may be called:
 *     [control-thread] one thread at a time, never during a [stage-thread] call of that stage;
 *     [stage-thread]   the thread that runs the stage, one call at a time; the host may move a
 *                      stage to another thread between two calls;
 *     [any-thread]     at any time from any thread.
 *
 * Lifecycle of a stage
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

/* The version of this ABI, not of the release. The host loads a plugin if the plugin's major is
 * equal to the host's and the minor that it needs is no larger than the host's. */
#define FLOWPIPE_ABI_MAJOR 0
#define FLOWPIPE_ABI_MINOR 1

/* The id of the factory that the host requests from get_factory. */
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
#define FLOWPIPE_END 1               /* from process: this stage has no more output */
#define FLOWPIPE_ERROR (-1)          /* failed; report the reason with set_error */
#define FLOWPIPE_CANCELLED (-2)      /* stopped because cancelled() was nonzero */
#define FLOWPIPE_BAD_CONFIG (-3)     /* the config is invalid; report the reason with set_error */
#define FLOWPIPE_BAD_MESSAGE (-4)    /* malformed message; from emit: the message was refused */
#define FLOWPIPE_PANIC (-5)          /* the plugin caught a panic in its own code */
#define FLOWPIPE_STOPPED (-6)        /* from emit: all receivers have ended; return soon */
#define FLOWPIPE_NOT_FOUND (-7)      /* from getters: no value at the pointer */
#define FLOWPIPE_WRONG_TYPE (-8)     /* from getters: the value has another type */

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

/* The layout of the pixels of a frame: rows from top to bottom, pixels from left to right. */
typedef struct flowpipe_frame_info {
  uint32_t struct_size;
  flowpipe_format_t format;
  uint32_t width;  /* pixels */
  uint32_t height; /* pixels */
  uint64_t stride; /* bytes from one row to the next; 0 in frame_new: the host chooses it */
  uint64_t size;   /* total bytes = stride * height; frame_new ignores it */
} flowpipe_frame_info_t;

/* ---------------------------------------------------------------- messages */

/* When one stage processed a message, by the host's clock. */
typedef struct flowpipe_hop {
  uint32_t stage; /* the index of the stage in the pipeline file */
  uint32_t reserved;
  int64_t taken_ns;   /* taken from the queue (for a source: when process was called) */
  int64_t emitted_ns; /* emitted */
} flowpipe_hop_t;

/* The lineage of a message. */
typedef struct flowpipe_lineage {
  uint32_t struct_size;
  uint32_t hop_count;
  uint64_t sequence;       /* its number, from 1, in the order of emission on its port */
  uint64_t frame_sequence; /* the number of the frame that it descends from; 0: none */
  int64_t captured_ns;     /* when that frame was captured; 0 if frame_sequence is 0 */
  const flowpipe_hop_t *hops; /* hop_count hops, oldest first; at most the newest 256 */
} flowpipe_lineage_t;

/* A received message. */
typedef struct flowpipe_message {
  uint32_t struct_size;
  uint32_t port;      /* index among the inputs of the stage's manifest */
  const char *schema; /* for example "flowpipe.sighting/1" */
  const char *json;   /* the body: json_length bytes of valid JSON, then a NUL */
  size_t json_length;
  const flowpipe_document_t *document; /* the same body for the getters, parsed on first access */
  flowpipe_frame_t *frame;             /* borrowed; NULL if the message has no pixels */
  const flowpipe_lineage_t *lineage;
} flowpipe_message_t;

/* A message to emit. The host copies the JSON and adds its own reference to the frame. */
typedef struct flowpipe_output {
  uint32_t struct_size;
  uint32_t port;      /* index among the outputs of the stage's manifest */
  const char *schema; /* NULL: the schema of the port in the manifest */
  const char *json;   /* NULL: "{}" */
  size_t json_length;
  flowpipe_frame_t *frame; /* NULL: no pixels */
  int64_t captured_ns;     /* for a new frame: when it was captured, 0 = now. Otherwise
                              ignored: the output has the lineage of the current message */
} flowpipe_output_t;

/* The reason for a call of process. */
typedef uint32_t flowpipe_event_t;
#define FLOWPIPE_EVENT_TICK 1    /* a stage without inputs: produce, then return */
#define FLOWPIPE_EVENT_MESSAGE 2 /* one message was received */
#define FLOWPIPE_EVENT_FINISH 3  /* all inputs have ended: emit the remaining output; the last call */

typedef struct flowpipe_process {
  uint32_t struct_size;
  flowpipe_event_t event;
  const flowpipe_message_t *message; /* NULL unless FLOWPIPE_EVENT_MESSAGE */
  flowpipe_context_t *context;       /* for emit, cancelled and mark; invalid after return */
} flowpipe_process_t;

/* -------------------------------------------------------------------- host */

/* The host's functions for one stage (in init: for one library). The table is valid until that stage
 * is destroyed (until that library's deinit returns); no thread of the plugin may use it later. If
 * create returns no stage, it is valid until create returns. A frame and its pixels are valid as long
 * as a reference to the frame exists. Every slot is set. */
struct flowpipe_host {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  const char *name;    /* "flowpipe" */
  const char *version; /* the release, for logs only */
  void *data;          /* private to the host */

  /* Writes a line to the host's log under the stage's name. [any-thread] */
  void (*log)(const flowpipe_host_t *host, flowpipe_level_t level, const char *text, size_t length);
  /* Reports the reason why the current call will return a negative status. The last report counts.
   * [control-thread, stage-thread] */
  void (*set_error)(const flowpipe_host_t *host, int32_t code, const char *text, size_t length);
  /* Nanoseconds since the start of the run; monotonic. Plugins use no other clock: in a replay it
   * returns the times of the recording. [any-thread] */
  int64_t (*clock_now)(const flowpipe_host_t *host);

  /* Allocates a frame with one reference. Its bytes are unspecified (buffers are recycled). NULL if
   * the info is invalid or memory is short. [any-thread] */
  flowpipe_frame_t *(*frame_new)(const flowpipe_host_t *host, const flowpipe_frame_info_t *info);
  /* Adds a reference and returns its argument. [any-thread] */
  flowpipe_frame_t *(*frame_ref)(const flowpipe_host_t *host, flowpipe_frame_t *frame);
  /* Releases a reference; releasing the last one recycles the buffer. Ignores NULL. [any-thread] */
  void (*frame_unref)(const flowpipe_host_t *host, flowpipe_frame_t *frame);
  /* Fills in *info; set info->struct_size first. [any-thread] */
  void (*frame_info)(const flowpipe_host_t *host, const flowpipe_frame_t *frame,
                     flowpipe_frame_info_t *info);
  /* The pixels for reading, valid while the caller owns a reference. [any-thread] */
  const uint8_t *(*frame_read)(const flowpipe_host_t *host, const flowpipe_frame_t *frame);
  /* The pixels for writing. If other references exist, *frame becomes a copy and the caller's
   * reference to the original is released. NULL if memory is short. [any-thread] */
  uint8_t *(*frame_write)(const flowpipe_host_t *host, flowpipe_frame_t **frame);

  /* Sends a message from an output port. Waits while a blocking queue is full. Returns FLOWPIPE_OK,
   * FLOWPIPE_STOPPED (all receivers have ended: return soon) or FLOWPIPE_BAD_MESSAGE (no such port,
   * wrong schema, not JSON, or refused by the host's checks; the log has the reason).
   * [stage-thread, inside process] */
  flowpipe_status_t (*emit)(const flowpipe_host_t *host, flowpipe_context_t *context,
                            const flowpipe_output_t *output);
  /* Nonzero if the current call is cancelled. Poll it during long work, and then return
   * FLOWPIPE_CANCELLED soon. [any-thread, inside process] */
  int32_t (*cancelled)(const flowpipe_host_t *host, const flowpipe_context_t *context);
  /* Records that the event of that name happens now. The host reports the time from the capture of
   * the current frame to its first mark of each name; actuators mark "action" at the first press.
   * [stage-thread, inside process] */
  void (*mark)(const flowpipe_host_t *host, flowpipe_context_t *context, const char *name);

  /* Getters: a plugin in C needs no JSON parser. `pointer` is a JSON Pointer (RFC 6901), for example
   * "/puzzle/board/rows"; "" is the whole document. They return FLOWPIPE_OK, FLOWPIPE_NOT_FOUND or
   * FLOWPIPE_WRONG_TYPE, and write *value only if they return FLOWPIPE_OK. [any-thread] */
  flowpipe_status_t (*get_bool)(const flowpipe_host_t *host, const flowpipe_document_t *document,
                                const char *pointer, int32_t *value);
  flowpipe_status_t (*get_int)(const flowpipe_host_t *host, const flowpipe_document_t *document,
                               const char *pointer, int64_t *value);
  flowpipe_status_t (*get_number)(const flowpipe_host_t *host, const flowpipe_document_t *document,
                                  const char *pointer, double *value);
  /* The text is valid as long as the document. It is not NUL-terminated. */
  flowpipe_status_t (*get_string)(const flowpipe_host_t *host, const flowpipe_document_t *document,
                                  const char *pointer, const char **value, size_t *length);
  /* The number of elements of an array, or of members of an object. */
  flowpipe_status_t (*get_count)(const flowpipe_host_t *host, const flowpipe_document_t *document,
                                 const char *pointer, size_t *value);

  /* The table of an extension, or NULL. [any-thread] */
  const void *(*get_extension)(const flowpipe_host_t *host, const char *id);

  /* Waits until the host's clock reads `deadline_ns`. The wait counts neither as work of the stage
   * nor towards its timeout. Returns FLOWPIPE_OK, or FLOWPIPE_CANCELLED as soon as the current call
   * is cancelled. [stage-thread, inside process] */
  flowpipe_status_t (*wait_until)(const flowpipe_host_t *host, flowpipe_context_t *context,
                                  int64_t deadline_ns);
};

/* ------------------------------------------- extension of the host: the run */

/* The state of the run, and a request to end it:
 * host->get_extension(host, FLOWPIPE_EXTENSION_RUN) is a flowpipe_run_t, or NULL. */
#define FLOWPIPE_EXTENSION_RUN "flowpipe.run/1"

typedef uint32_t flowpipe_ending_t;
#define FLOWPIPE_ENDING_DONE 1    /* the goal is reached: stages end after their current message */
#define FLOWPIPE_ENDING_STOPPED 2 /* stopped by a user or a safety check: all calls are cancelled */

typedef struct flowpipe_run {
  uint32_t struct_size;
  uint32_t reserved;
  /* Nonzero as soon as the run ends for another reason than the end of its sources: it was stopped,
   * or a stage failed. Stages with effects outside of the program stop then. [any-thread] */
  int32_t (*is_ending)(const flowpipe_host_t *host);
  /* Nonzero: a dry run. Stages have no effect outside of the program and log what they would have
   * done. [any-thread] */
  int32_t (*is_dry)(const flowpipe_host_t *host);
  /* Ends the run; the text is the reason. The first call counts. [any-thread] */
  void (*end)(const flowpipe_host_t *host, flowpipe_ending_t how, const char *text, size_t length);
} flowpipe_run_t;

/* ------------------------------------ extension of the host: lasting frames */

/* The frame functions for references that a plugin may keep after the stage is destroyed:
 * host->get_extension(host, FLOWPIPE_EXTENSION_FRAMES) is a flowpipe_frames_t, or NULL in older
 * hosts. The table and its functions are valid as long as the process and take no host; each is
 * equivalent to the named slot of the host. [any-thread] */
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

/* ------------------------------------------- extension of the host: buffers */

/* Buffers of any media type: audio, tensors, depth, text, bytes. A buffer is memory of the host like a
 * frame's, with elements in place of pixels: the same handle in the same slots of messages.
 * host->get_extension(host, FLOWPIPE_EXTENSION_BUFFER) is a flowpipe_buffers_t, or NULL in older hosts.
 *
 * frame_ref, frame_unref, frame_read and frame_write, and those of flowpipe.frames/1, do with a buffer what
 * they do with a frame. frame_info of a buffer gives its size, and 0 for format, width, height and stride.
 * A stage gets buffers only from inputs that declare them (see "carries" of the manifest). */
#define FLOWPIPE_EXTENSION_BUFFER "flowpipe.buffer/1"

/* The type of an element. Elements are little-endian. */
typedef uint32_t flowpipe_element_t;
#define FLOWPIPE_ELEMENT_U8 1
#define FLOWPIPE_ELEMENT_I8 2
#define FLOWPIPE_ELEMENT_U16 3
#define FLOWPIPE_ELEMENT_I16 4
#define FLOWPIPE_ELEMENT_U32 5
#define FLOWPIPE_ELEMENT_I32 6
#define FLOWPIPE_ELEMENT_U64 7
#define FLOWPIPE_ELEMENT_I64 8
#define FLOWPIPE_ELEMENT_F16 9 /* IEEE 754 */
#define FLOWPIPE_ELEMENT_F32 10
#define FLOWPIPE_ELEMENT_F64 11

#define FLOWPIPE_BUFFER_MAX_RANK 8
#define FLOWPIPE_BUFFER_MAX_SIZE UINT64_C(0x40000000) /* bytes */
#define FLOWPIPE_MEDIA_TYPE_CAPACITY 64               /* bytes, with the NUL */

/* The layout of a buffer: elements without gaps, the last dimension varies fastest. */
typedef struct flowpipe_buffer_info {
  uint32_t struct_size;
  flowpipe_element_t element;
  uint32_t rank; /* the number of dimensions; 0: one element */
  uint32_t reserved;
  uint64_t shape[FLOWPIPE_BUFFER_MAX_RANK]; /* elements of each dimension, at least 1; from rank on 0 */
  uint64_t size; /* total bytes = the product of the shape and the element's bytes; create ignores it */
  char media_type[FLOWPIPE_MEDIA_TYPE_CAPACITY]; /* NUL-terminated: "audio/pcm", "text/plain",
                                                    "application/octet-stream"; lower case, no parameters */
} flowpipe_buffer_info_t;

/* The table is valid as long as the process. [any-thread] */
typedef struct flowpipe_buffers {
  uint32_t struct_size;
  uint32_t reserved;
  /* Allocates a buffer with one reference. Its bytes are unspecified. NULL if the info is invalid or memory
   * is short. */
  flowpipe_frame_t *(*create)(const flowpipe_host_t *host, const flowpipe_buffer_info_t *info);
  /* Fills in *info; set info->struct_size first. FLOWPIPE_OK, FLOWPIPE_WRONG_TYPE if the frame is a picture,
   * or FLOWPIPE_ERROR if struct_size is too small. */
  flowpipe_status_t (*info)(const flowpipe_frame_t *frame, flowpipe_buffer_info_t *info);
} flowpipe_buffers_t;

/* ------------------------------------------------------------------- stage */

/* A stage, created by the factory. `data` is private to the plugin. */
struct flowpipe_stage {
  uint32_t struct_size;
  uint32_t reserved;
  void *data;

  /* Prepares for process: opens devices, allocates. [control-thread] */
  flowpipe_status_t (*activate)(flowpipe_stage_t *stage);
  /* Processes process->event. FLOWPIPE_END, from any event: the stage has finished; the host does not
   * call process again and ends the stage's outputs. [stage-thread, active] */
  flowpipe_status_t (*process)(flowpipe_stage_t *stage, const flowpipe_process_t *process);
  /* Discards all state of earlier messages, as if just activated. [stage-thread, active] */
  flowpipe_status_t (*reset)(flowpipe_stage_t *stage);
  /* Reverts activate. [control-thread] */
  void (*deactivate)(flowpipe_stage_t *stage);
  /* Frees the stage; the pointer is invalid afterwards. [control-thread, not active] */
  void (*destroy)(flowpipe_stage_t *stage);
  /* The table of an extension, or NULL. [any-thread] */
  const void *(*get_extension)(flowpipe_stage_t *stage, const char *id);
};

/* ---------------------------------------- extension of a stage: its state */

/* A stage can transfer its state to the stage that replaces it in a running pipeline:
 * stage->get_extension(stage, FLOWPIPE_EXTENSION_STATE) is a flowpipe_state_t, or NULL. The host
 * calls save of the old stage and load of the new one, both active, between the last process of the
 * old one and the first process of the new one. If either fails, the old stage continues: save
 * changes no state. */
#define FLOWPIPE_EXTENSION_STATE "flowpipe.state/1"

typedef struct flowpipe_state_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *data; /* private to the host */
  /* Receives the state. `format` is the name and version of its format ("referee-repair/1"). The
   * host copies the JSON. The last call counts. [control-thread, inside save] */
  void (*put)(const struct flowpipe_state_sink *sink, const char *format, const char *json,
              size_t json_length);
} flowpipe_state_sink_t;

typedef struct flowpipe_state {
  uint32_t struct_size;
  uint32_t reserved;
  /* Puts the state into the sink. [control-thread, active] */
  flowpipe_status_t (*save)(flowpipe_stage_t *stage, const flowpipe_state_sink_t *sink);
  /* Loads the state that another stage has saved. `document` is the same JSON for the getters; all
   * arguments are borrowed for the call. FLOWPIPE_NOT_FOUND: unknown format. If the old stage is of
   * another plugin, the new one then starts with no state; if it is another build of the same
   * plugin, the old stage stays. It also stays after other negative statuses; report the reason with
   * set_error. [control-thread, active, before the first process] */
  flowpipe_status_t (*load)(flowpipe_stage_t *stage, const char *format, const char *json,
                            size_t json_length, const flowpipe_document_t *document);
} flowpipe_state_t;

/* ------------------------------------ extension of a stage: it checks messages */

/* A stage of the role "check" judges the messages of other stages. Its inputs name the schemas that it
 * judges, it has no outputs, and it is no part of a pipeline: the host never calls process and reset.
 * stage->get_extension(stage, FLOWPIPE_EXTENSION_CHECK) is a flowpipe_check_t. */
#define FLOWPIPE_EXTENSION_CHECK "flowpipe.check/1"

typedef uint32_t flowpipe_verdict_t;
#define FLOWPIPE_ACCEPT 1 /* the message is valid */
#define FLOWPIPE_WEAK 2   /* valid, but a weak answer: in a race it counts if there is no better one */
#define FLOWPIPE_REFUSE 3 /* wrong: the message is not sent */

typedef struct flowpipe_judgement {
  uint32_t struct_size;
  flowpipe_verdict_t verdict; /* set by the stage */
  char *reason;               /* `capacity` bytes of the host, for the reason of WEAK and REFUSE */
  size_t capacity;
  size_t length;              /* set by the stage: bytes of the reason, at most `capacity` */
  /* Set by the host: the message that carried the frame from which the judged message descends, as it
   * was captured. NULL: the message descends from no frame, or carries a new one itself. */
  const char *captured_schema; /* for example "flowpipe.frame/1" */
  const char *captured_json;   /* the body: captured_json_length bytes of valid JSON, then a NUL */
  size_t captured_json_length;
} flowpipe_judgement_t;

typedef struct flowpipe_check {
  uint32_t struct_size;
  uint32_t reserved;
  /* Judges a message that a stage is about to emit. `parent` is the message that this stage is processing,
   * or NULL. Both are borrowed for the call. The text of `message` may be no JSON. A negative status refuses
   * the message. The call is part of each emit, so it should be quick.
   * [any-thread, active, several calls at once] */
  flowpipe_status_t (*judge)(flowpipe_stage_t *stage, const flowpipe_message_t *parent,
                             const flowpipe_message_t *message, flowpipe_judgement_t *judgement);
} flowpipe_check_t;

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
 * role is capture, vision, solver, planner, actuator, check or stage. A stage without inputs is a source.
 * A port may have more keys:
 *   optional  an input that a pipeline may leave unconnected; one input at least is connected.
 *   check     an output whose messages need a check: the name of a stage of the role check that judges this
 *             schema. A run does not start without it.
 *   carries   what its messages have in the slot "frame": "nothing", "picture", a pattern of buffers, or an
 *             array of these. Default: [ "nothing", "picture" ]. A pattern is an object; every key is
 *             optional: { "media_type": "audio/pcm", "element": "f32", "shape": [ "any", 2 ] }. An asterisk
 *             in place of the part after the slash matches any. A run starts if the two ends of each edge
 *             can agree; a message with something else is refused.
 *   schema_key  an output with the schema "*": the key of the config that names the schema of its messages,
 *             where it is set.
 *   passes    an output: the input whose messages it passes on, with what they carry, and with their schema
 *             where schema_key names none. With both, a host finds ends of edges that can't agree before it
 *             starts a run.
 *   joins     an output: the input whose messages it makes one of: with their buffers joined along the first
 *             dimension, or nothing.
 *   element_key  an output with buffers: the key of the config that names the type of their elements, where
 *             carries names none.
 * supports (optional) lists for users what the stage accepts, where its role leaves a choice.
 *
 * declared_by_config (optional): true if the config of a stage declares what it is, for stages that run
 * other code. Where the config has these keys, they count instead of the manifest's:
 *   inputs, outputs  { "NAME": { "schema": "maker.name/1" } }, by name in alphabetical order: the first
 *           has index 0. {}: no such ports. Ports may have the keys of a manifest's. "json_schema" is the
 *           JSON Schema of its messages, which the host reads from "file" before it creates the stage.
 *   deterministic  true or false
 *   effects [ "uses-network" ]: ids of effects in addition to the manifest's
 * A host that does not know the field uses the ports of the manifest. A replay does not run such a stage
 * unless its user names it, since the config is then that of the recording.
 *
 * effects declares the effects of the stage outside of the program; []: none. If it is missing or has
 * an effect that the host does not know, the stage may have any effect, and a replay does not run it.
 *   effect  one of the ids below, FLOWPIPE_EFFECT_...
 *   key     optional: the top-level key of the config that enables the effect; null and false
 *           disable it, as a missing key does. A replay removes such keys.
 *   paths   optional: the keys of the config that contain the files or folders. Default: key.
 *   state_file  optional: the name of the file that is used if none of these keys is set. It is in the
 *           folder `flowpipe` of $XDG_STATE_HOME or ~/.local/state, or of the user's data where the
 *           system has no such folder.
 *   doc     a short phrase for users. {key} is replaced by that value of the config; text in square
 *           brackets is omitted if a value in it is not set.
 */
#define FLOWPIPE_EFFECT_READS_FILES "reads-files"     /* reads files or folders */
#define FLOWPIPE_EFFECT_WRITES_FILES "writes-files"   /* creates, changes or removes files or folders */
#define FLOWPIPE_EFFECT_RUNS_COMMANDS "runs-commands" /* starts other programs */
#define FLOWPIPE_EFFECT_READS_SCREEN "reads-screen"   /* captures the screen */
#define FLOWPIPE_EFFECT_DRIVES_MOUSE "drives-mouse"   /* moves the pointer, presses buttons or keys */
#define FLOWPIPE_EFFECT_USES_NETWORK "uses-network"   /* communicates with other machines */

typedef struct flowpipe_stage_factory {
  uint32_t struct_size;
  uint32_t reserved;
  /* The number of stages in this library. [any-thread] */
  uint32_t (*count)(void);
  /* The manifest of stage `index`, valid as long as the library. NULL: no such index. Creates no
   * stage. [any-thread] */
  const char *(*manifest)(uint32_t index);
  /* Creates stage `index`, or returns NULL after host->set_error with FLOWPIPE_BAD_CONFIG or
   * FLOWPIPE_ERROR. `config` is a JSON object that is valid under the manifest's schema, without
   * defaults filled in; `document` is the same JSON for the getters. Both are borrowed for the call;
   * `host` is valid until destroy returns. [control-thread] */
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
  /* Called once after loading, before all other functions. A negative status refuses the library.
   * [control-thread] */
  flowpipe_status_t (*init)(const flowpipe_host_t *host);
  /* Called once, after the last stage is destroyed. The library itself is never unloaded.
   * [control-thread] */
  void (*deinit)(void);
  /* The table of a factory, or NULL. [any-thread] */
  const void *(*get_factory)(const char *id);
} flowpipe_entry_t;

/* Define it in one file of the plugin:
 *   FLOWPIPE_EXPORT const flowpipe_entry_t flowpipe_entry = { FLOWPIPE_MAGIC, ... }; */
extern FLOWPIPE_EXPORT const flowpipe_entry_t flowpipe_entry;

#ifdef __cplusplus
}
#endif

#endif /* FLOWPIPE_H */
