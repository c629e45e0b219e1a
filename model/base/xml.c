// Elements in document order, made by the call-backs of expat.
//
// Invariant: while reading, `open` is the path from the root to the element being read, and every
// element before it that is not on this path has its end. The parser is stopped at the first thing
// that is refused, before memory is taken for it.
#include "model/base/xml.h"

#include <expat.h>
#include <stdarg.h>
#include <string.h>

#include "model/base/text.h"

typedef struct Reader {
    XML_Parser parser;
    Xml xml;
    uint32_t capacity;
    uint32_t open[XML_DEPTH_MAX];
    Text texts[XML_DEPTH_MAX];
    uint32_t depth;
    Err refused; // what stopped the parser
} Reader;

static void refuse(Reader *reader, const char *what) {
    if (!err_is_set(&reader->refused)) err_set(&reader->refused, "%s", what);
    XML_StopParser(reader->parser, XML_FALSE);
}

static void copy_attributes(Reader *reader, XmlElement *element, const XML_Char **pairs) {
    uint32_t count = 0;
    while (pairs[2 * count] != NULL && count <= XML_ATTRIBUTES_MAX) count++;
    if (count > XML_ATTRIBUTES_MAX) {
        refuse(reader, "more than 256 attributes of one element");
        return;
    }
    XmlAttribute *list = arena_alloc(&reader->xml.arena, count, sizeof *list);
    for (uint32_t i = 0; i < count; i++) {
        list[i].name = arena_string(&reader->xml.arena, pairs[2 * (size_t)i]);
        list[i].value = arena_string(&reader->xml.arena, pairs[2 * (size_t)i + 1]);
    }
    element->attributes = list;
    element->attribute_count = count;
}

static void XMLCALL on_start(void *user, const XML_Char *name, const XML_Char **pairs) {
    Reader *reader = user;
    Xml *xml = &reader->xml;
    if (err_is_set(&reader->refused)) return;
    if (reader->depth == XML_DEPTH_MAX) {
        refuse(reader, "elements are nested more than 64 deep");
        return;
    }
    if (xml->count == XML_ELEMENTS_MAX) {
        refuse(reader, "more than 1000000 elements");
        return;
    }
    xml->elements =
        mem_grow(xml->elements, &reader->capacity, xml->count + 1, sizeof *xml->elements);
    XmlElement *element = &xml->elements[xml->count];
    *element =
        (XmlElement){.name = arena_string(&xml->arena, name),
                     .text = "",
                     .parent = reader->depth == 0 ? XML_NONE : reader->open[reader->depth - 1],
                     .depth = reader->depth,
                     .line = (uint32_t)XML_GetCurrentLineNumber(reader->parser)};
    copy_attributes(reader, element, pairs);
    reader->open[reader->depth++] = xml->count++;
}

static void XMLCALL on_end(void *user, const XML_Char *name) {
    Reader *reader = user;
    (void)name;
    if (err_is_set(&reader->refused)) return;
    Text *text = &reader->texts[--reader->depth];
    XmlElement *element = &reader->xml.elements[reader->open[reader->depth]];
    element->end = reader->xml.count;
    if (text->length > 0) element->text = arena_string(&reader->xml.arena, text_string(text));
    text_free(text);
}

static void XMLCALL on_text(void *user, const XML_Char *bytes, int count) {
    Reader *reader = user;
    if (reader->depth == 0 || err_is_set(&reader->refused)) return;
    text_add_bytes(&reader->texts[reader->depth - 1], bytes, (size_t)count);
}

static void XMLCALL on_entity(void *user, const XML_Char *name, int is_parameter,
                              const XML_Char *value, int length, const XML_Char *base,
                              const XML_Char *system, const XML_Char *public,
                              const XML_Char *notation) {
    (void)name, (void)is_parameter, (void)value, (void)length;
    (void)base, (void)system, (void)public, (void)notation;
    refuse(user, "declares an entity, which is not read");
}

static void XMLCALL on_skipped(void *user, const XML_Char *name, int is_parameter) {
    (void)name, (void)is_parameter;
    refuse(user, "refers to an entity, which is not read");
}

static bool run(Reader *reader, const char *name, const char *bytes, size_t count, Err *err) {
    XML_SetUserData(reader->parser, reader);
    XML_SetElementHandler(reader->parser, on_start, on_end);
    XML_SetCharacterDataHandler(reader->parser, on_text);
    XML_SetEntityDeclHandler(reader->parser, on_entity);
    XML_SetSkippedEntityHandler(reader->parser, on_skipped);
    enum XML_Status status = XML_Parse(reader->parser, bytes, (int)count, XML_TRUE);
    if (status == XML_STATUS_OK && !err_is_set(&reader->refused)) return true;
    unsigned long line = (unsigned long)XML_GetCurrentLineNumber(reader->parser);
    if (err_is_set(&reader->refused))
        return err_set(err, "%s:%lu: %s", name, line, reader->refused.text);
    enum XML_Error code = XML_GetErrorCode(reader->parser);
    if (code == XML_ERROR_NO_MEMORY)
        return err_set(err, "%s:%lu: XML that takes too much memory", name, line);
    return err_set(err, "%s:%lu: expected XML, found: %s", name, line, XML_ErrorString(code));
}

bool xml_parse(const char *name, const char *bytes, size_t count, Xml *out, Err *err) {
    Reader reader = {.parser = NULL};
    if (count > XML_SIZE_MAX_B) return err_set(err, "%s: XML of more than 64 MiB", name);
    reader.parser = XML_ParserCreate(NULL);
    if (reader.parser == NULL) return err_set(err, "%s: no memory for a reader of XML", name);
    reader.xml.origin = arena_string(&reader.xml.arena, name);
    bool done = run(&reader, name, bytes, count, err);
    for (uint32_t i = 0; i < XML_DEPTH_MAX; i++) text_free(&reader.texts[i]);
    XML_ParserFree(reader.parser);
    if (!done) {
        xml_free(&reader.xml);
        return false;
    }
    *out = reader.xml;
    return true;
}

void xml_free(Xml *xml) {
    mem_free(xml->elements);
    arena_free(&xml->arena);
    *xml = (Xml){.count = 0};
}

bool xml_is(const Xml *xml, uint32_t element, const char *name) {
    return strcmp(xml->elements[element].name, name) == 0;
}

const char *xml_attribute(const Xml *xml, uint32_t element, const char *name) {
    const XmlElement *e = &xml->elements[element];
    for (uint32_t i = 0; i < e->attribute_count; i++) {
        if (strcmp(e->attributes[i].name, name) == 0) return e->attributes[i].value;
    }
    return NULL;
}

bool xml_error(const Xml *xml, uint32_t element, Err *err, const char *format, ...) {
    Arena arena = {0};
    va_list args;
    va_start(args, format);
    const char *what = arena_vprintf(&arena, format, args);
    va_end(args);
    err_set(err, "%s:%u: <%s>: %s", xml->origin, xml->elements[element].line,
            xml->elements[element].name, what);
    arena_free(&arena);
    return false;
}
