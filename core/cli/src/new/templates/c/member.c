
/* A member of a JSON object as text, to be forwarded, or NULL. (The host's getters return the value of a member.) The
 * host has parsed the text, so matching strings and brackets is enough. */
static const char *member(const char *object, const char *key, int *length) {
  const char *value = NULL;
  int depth = 0;
  for (const char *at = object; at && *at; at++) {
    if (*at == '"') {
      const char *text = ++at;
      while (*at != '"') at += *at == '\\' ? 2 : 1;
      size_t long_is = (size_t)(at - text);
      const char *colon = at + 1 + strspn(at + 1, " \t\r\n");
      if (depth == 1 && *colon == ':' && !value && long_is == strlen(key) && !memcmp(text, key, long_is)) value = at = colon;
    } else if (*at == '{' || *at == '[') {
      depth++;
    } else if (*at == '}' || *at == ']') {
      depth--;
    }
    if (value && at > value && (depth == 0 || (depth == 1 && *at == ','))) {
      *length = (int)(at - value - 1);
      return value + 1;
    }
    if (depth == 0) return NULL;
  }
  return NULL;
}
