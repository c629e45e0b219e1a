// XML as a flat list of elements in document order, read through expat (which xml.c alone sees).
//
// Refused, each with its line: what is not well-formed, declarations of entities and references to
// them (nothing is ever expanded or fetched), nesting over 64, more than a million elements, more
// than 256 attributes of one element. A reader loops over the list: no recursion.
#ifndef MODEL_BASE_XML_H
#define MODEL_BASE_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"

#define XML_DEPTH_MAX      64
#define XML_ELEMENTS_MAX   1000000
#define XML_ATTRIBUTES_MAX 256
#define XML_SIZE_MAX_B     ((size_t)64 << 20)
#define XML_NONE           UINT32_MAX

typedef struct XmlAttribute {
    const char *name, *value;
} XmlAttribute;

typedef struct XmlElement {
    const char *name;
    const char *text; // character data directly inside, "" for none
    uint32_t parent;  // XML_NONE of the root, which is element 0
    uint32_t end;     // those inside are the elements between this one and `end`
    uint32_t depth;   // 0 of the root
    uint32_t line;
    const XmlAttribute *attributes;
    uint32_t attribute_count;
} XmlElement;

// A zeroed Xml is empty.
typedef struct Xml {
    Arena arena;
    const char *origin; // for messages
    XmlElement *elements;
    uint32_t count;
} Xml;

// `name` is used in messages, which begin "NAME:LINE: ".
bool xml_parse(const char *name, const char *bytes, size_t count, Xml *out, Err *err);
void xml_free(Xml *xml);

bool xml_is(const Xml *xml, uint32_t element, const char *name);
// The value of an attribute, or NULL.
const char *xml_attribute(const Xml *xml, uint32_t element, const char *name);
// "FILE:LINE: <element>: " + the message. Returns false.
bool xml_error(const Xml *xml, uint32_t element, Err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
