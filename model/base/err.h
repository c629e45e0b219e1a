// The one line that says what went wrong.
//
// A function that can fail for a reason outside the program returns bool and takes `Err *err` last.
// The function that finds the cause writes *what*; callers may prefix *where* and never rewrite it:
// "topologies/a.json:41:17: links[3].bandwidth: expected a rate such as \"400 Gbit/s\", found 400".
#ifndef MODEL_BASE_ERR_H
#define MODEL_BASE_ERR_H

#include <stdbool.h>

#define ERR_TEXT_MAX 1024

// A zeroed Err is empty. The text is one line of UTF-8: control characters and broken UTF-8 from
// untrusted input are replaced by '?', longer text loses its middle to "...".
typedef struct Err {
    char text[ERR_TEXT_MAX];
} Err;

// Writes the message (printf rules) and returns false, so that a check reads
// `return err_set(err, "...")`. The format must not contain a newline.
bool err_set(Err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Puts "PREFIX: " in front of the message that is there; returns false.
bool err_prefix(Err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

// True when a message has been written.
bool err_is_set(const Err *err);

#endif
