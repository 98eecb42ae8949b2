/* JSON: a bounded event reader over yajl, and a small writer. */
#ifndef GLOW_SUPPORT_JSON_H
#define GLOW_SUPPORT_JSON_H

#include "support/text.h"

typedef enum GlowJsonEvent {
  GLOW_JSON_OBJECT,
  GLOW_JSON_OBJECT_END,
  GLOW_JSON_ARRAY,
  GLOW_JSON_ARRAY_END,
  GLOW_JSON_KEY,
  GLOW_JSON_STRING,
  GLOW_JSON_INTEGER,
  GLOW_JSON_DOUBLE,
  GLOW_JSON_BOOL,
  GLOW_JSON_NULL
} GlowJsonEvent;

typedef struct GlowJsonToken {
  GlowJsonEvent event;
  const char *text; /* KEY, STRING: not NUL-terminated */
  size_t length;
  int64_t integer; /* INTEGER, BOOL */
  double number;   /* DOUBLE */
} GlowJsonToken;

/* Calls fn for each event of the text. fn returns false to stop; it then has to remember its reason
 * itself. Returns true if the text is one complete JSON value within GLOW_MAX_JSON_DEPTH and fn
 * never stopped. Otherwise *error is a message with the byte offset (in the context), or NULL if fn
 * stopped. */
bool glow_json_read(GlowContext *ctx, const char *text, size_t size,
                    bool (*fn)(void *user, const GlowJsonToken *token), void *user,
                    const char **error);

/* Writes a JSON string literal. Bytes that are not UTF-8 become U+FFFD. */
void glow_json_string(GlowText *t, const char *s, size_t length);

#endif
