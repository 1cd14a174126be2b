/* xdg-desktop-portal-wlr up to 0.7 works only where the compositor offers to copy the screen into a graphics card's memory
 * too. A compositor that draws without a graphics card does not offer it. Loaded into the portal, this makes the offer in
 * the compositor's name. The portal finds no graphics card then, and has the screen copied into shared memory, which is
 * what it is tested with. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct wl_proxy;
extern const char *wl_proxy_get_class(struct wl_proxy *);

/* The events of a zwlr_screencopy_frame_v1, in the order of the protocol. */
struct events {
    void (*buffer)(void *, struct wl_proxy *, uint32_t, uint32_t, uint32_t, uint32_t);
    void (*flags)(void *, struct wl_proxy *, uint32_t);
    void (*ready)(void *, struct wl_proxy *, uint32_t, uint32_t, uint32_t);
    void (*failed)(void *, struct wl_proxy *);
    void (*damage)(void *, struct wl_proxy *, uint32_t, uint32_t, uint32_t, uint32_t);
    void (*linux_dmabuf)(void *, struct wl_proxy *, uint32_t, uint32_t, uint32_t);
    void (*buffer_done)(void *, struct wl_proxy *);
};

static struct events real, changed;

static void buffer(void *data, struct wl_proxy *frame, uint32_t format, uint32_t width, uint32_t height, uint32_t stride)
{
    const uint32_t xrgb8888 = 0x34325258;
    real.buffer(data, frame, format, width, height, stride);
    real.linux_dmabuf(data, frame, xrgb8888, width, height);
}

int wl_proxy_add_listener(struct wl_proxy *proxy, void (**listener)(void), void *data)
{
    int (*next)(struct wl_proxy *, void (**)(void), void *) = dlsym(RTLD_NEXT, "wl_proxy_add_listener");
    if (strcmp(wl_proxy_get_class(proxy), "zwlr_screencopy_frame_v1") == 0) {
        memcpy(&real, listener, sizeof real);
        changed = real;
        changed.buffer = buffer;
        listener = (void (**)(void))&changed;
    }
    return next(proxy, listener, data);
}
