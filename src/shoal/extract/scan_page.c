/*
 * Scans a page in one pass, and takes what a crawler needs of it: language, facts of the head, links, frames, title, text.
 *
 * The tokens are those of the HTML standard (13.2.5 Tokenization). Of its tree construction there is as much as decides
 * what a token means: head, body or frameset; templates; svg and math with their integration points. No tree is built
 * and nothing is recursive, so time grows with the bytes alone and memory is a small multiple of them, whatever the
 * page looks like. `scan_parser.py` says where the result differs from that of a tree.
 *
 * `end` is behind the last byte of the page and is never read: every access is guarded by a comparison with it.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Made of Python's html.entities when this file is compiled. */
#include "character_references.h"

typedef unsigned char Byte;

typedef struct {
    const Byte *start;
    Py_ssize_t size;
} Slice;

/* ---- Characters ---- */

#define BIT(c) ((uint64_t)1 << (c))
#define BLANKS (BIT(' ') | BIT('\t') | BIT('\n') | BIT('\f') | BIT('\r'))
#define TAG_NAME_END (BLANKS | BIT('/') | BIT('>'))
#define ATTRIBUTE_NAME_END (TAG_NAME_END | BIT('='))
#define VALUE_END (BLANKS | BIT('>'))

static inline bool among(uint64_t set, Byte c) { return c < 64 && set >> c & 1; }

static inline bool is_letter(Byte c) { return (Byte)((c | 32) - 'a') < 26; }

static inline bool is_digit(Byte c) { return (Byte)(c - '0') < 10; }

static inline Byte lower(Byte c) { return (Byte)(c - 'A') < 26 ? c | 32 : c; }

static const Byte *past(uint64_t set, const Byte *at, const Byte *end) {
    while (at < end && among(set, *at))
        at++;
    return at;
}

static const Byte *until(uint64_t set, const Byte *at, const Byte *end) {
    while (at < end && !among(set, *at))
        at++;
    return at;
}

static const Byte *find(Byte c, const Byte *at, const Byte *end) {
    const Byte *found = at < end ? memchr(at, c, end - at) : NULL;
    return found ? found : end;
}

/* `text` is in lower case; the page may spell it otherwise. */
static bool starts_with(const Byte *at, const Byte *end, const char *text, Py_ssize_t size) {
    if (end - at < size)
        return false;
    for (Py_ssize_t i = 0; i < size; i++)
        if (lower(at[i]) != (Byte)text[i])
            return false;
    return true;
}

#define STARTS_WITH(at, end, text) starts_with(at, end, text, sizeof(text) - 1)

/* ---- Character references ---- */

enum { LONGEST_REFERENCE = 8 };

static int write_utf8(uint32_t c, Byte *out) {
    if (c < 0x80) {
        out[0] = (Byte)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (Byte)(0xc0 | c >> 6);
        out[1] = (Byte)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (Byte)(0xe0 | c >> 12);
        out[1] = (Byte)(0x80 | (c >> 6 & 0x3f));
        out[2] = (Byte)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (Byte)(0xf0 | c >> 18);
    out[1] = (Byte)(0x80 | (c >> 12 & 0x3f));
    out[2] = (Byte)(0x80 | (c >> 6 & 0x3f));
    out[3] = (Byte)(0x80 | (c & 0x3f));
    return 4;
}

/* Numbers between 0x80 and 0x9f mean the characters of windows-1252; 0: the number itself. */
static const uint16_t WINDOWS_1252[32] = {
    0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017d, 0,
    0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
};

static uint32_t numbered(uint32_t number) {
    if (number == 0 || number > 0x10ffff || (number >= 0xd800 && number < 0xe000))
        return 0xfffd;
    if (number >= 0x80 && number < 0xa0 && WINDOWS_1252[number - 0x80])
        return WINDOWS_1252[number - 0x80];
    return number;
}

static int digit_value(Byte c, bool is_hex) {
    if (is_digit(c))
        return c - '0';
    Byte letter = (Byte)((c | 32) - 'a');
    return is_hex && letter < 6 ? letter + 10 : -1;
}

/* `*at` is behind "&#". Without a digit it is no reference: 0. */
static int numeric_reference(const Byte **at, const Byte *end, Byte *out) {
    const Byte *p = *at;
    bool is_hex = p < end && (*p | 32) == 'x';
    p += is_hex;
    const Byte *digits = p;
    uint32_t number = 0;
    for (int digit; p < end && (digit = digit_value(*p, is_hex)) >= 0; p++)
        if (number <= 0x10ffff)
            number = number * (is_hex ? 16 : 10) + (uint32_t)digit;
    if (p == digits)
        return 0;
    *at = p + (p < end && *p == ';');
    return write_utf8(numbered(number), out);
}

/* Among names that share their first `place` bytes, the first whose next byte is not below `c`. */
static int lower_bound(int low, int high, int place, int c) {
    while (low < high) {
        int middle = (low + high) / 2;
        if ((Byte)CHARACTER_REFERENCES[middle].name[place] < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where the names that begin with a byte start. */
static int reference_starts[257];

static void fill_reference_starts(void) {
    for (int c = 0; c <= 256; c++)
        reference_starts[c] = lower_bound(0, CHARACTER_REFERENCE_COUNT, 0, c);
}

/* `*at` is at the letter behind "&". The longest name counts; those without a semicolon are no names within a word of an attribute. */
static int named_reference(const Byte **at, const Byte *end, bool in_attribute, Byte *out) {
    const Byte *p = *at;
    int low = reference_starts[*p], high = reference_starts[*p + 1], found = -1, size = 0;
    /* A zero would go on behind the ends of names. */
    for (int place = 1; p + place < end && p[place]; place++) {
        Byte c = p[place];
        low = lower_bound(low, high, place, c);
        high = lower_bound(low, high, place, c + 1);
        if (low == high)
            break;
        if (!CHARACTER_REFERENCES[low].name[place + 1]) {
            found = low;
            size = place + 1;
        }
    }
    if (found < 0)
        return 0;
    if (in_attribute && p[size - 1] != ';' && p + size < end) {
        Byte next = p[size];
        if (next == '=' || is_letter(next) || is_digit(next))
            return 0;
    }
    *at = p + size;
    const char *text = CHARACTER_REFERENCES[found].text;
    int text_size = (int)strlen(text);
    memcpy(out, text, text_size);
    return text_size;
}

/* Decodes what is behind an "&", and moves `*at` behind it. Returns the bytes written; 0: the "&" is only a character. */
static int reference(const Byte **at, const Byte *end, bool in_attribute, Byte out[LONGEST_REFERENCE]) {
    const Byte *p = *at;
    if (p < end && is_letter(*p))
        return named_reference(at, end, in_attribute, out);
    if (p == end || *p != '#')
        return 0;
    p++;
    int size = numeric_reference(&p, end, out);
    if (size)
        *at = p;
    return size;
}

/* ---- Text ---- */

typedef struct {
    Byte *start;
    Py_ssize_t size, room;
    /* White space is to come before the next character. */
    bool blank;
} Text;

static bool reserve(Text *text, Py_ssize_t more) {
    if (text->room - text->size >= more)
        return true;
    Py_ssize_t room = 2 * text->size + more;
    Byte *start = PyMem_RawRealloc(text->start, room);
    if (!start) {
        PyErr_NoMemory();
        return false;
    }
    text->start = start;
    text->room = room;
    return true;
}

enum { PLAIN, BLANK, AMPERSAND, LEAD };

/* White space is what str.split() takes for it. Of characters that are several bytes, a LEAD may begin such a one. */
static const Byte KINDS[256] = {
    [0] = BLANK,         ['\t'] = BLANK,  ['\n'] = BLANK,  ['\v'] = BLANK,  ['\f'] = BLANK, ['\r'] = BLANK, [0x1c] = BLANK,
    [0x1d] = BLANK,      [0x1e] = BLANK,  [0x1f] = BLANK,  [' '] = BLANK,   [0xc2] = LEAD,  [0xe1] = LEAD,  [0xe2] = LEAD,
    [0xe3] = LEAD,       ['&'] = AMPERSAND,
};

/* Bytes of the white space that a LEAD begins; 0: it begins another character. */
static int wide_blank(const Byte *at, const Byte *end) {
    if (end - at < 2)
        return 0;
    if (at[0] == 0xc2)
        return at[1] == 0x85 || at[1] == 0xa0 ? 2 : 0;
    if (end - at < 3)
        return 0;
    bool is_blank = false;
    if (at[0] == 0xe1)
        is_blank = at[1] == 0x9a && at[2] == 0x80;
    else if (at[0] == 0xe3)
        is_blank = at[1] == 0x80 && at[2] == 0x80;
    else if (at[1] == 0x80)
        is_blank = at[2] <= 0x8a || at[2] == 0xa8 || at[2] == 0xa9 || at[2] == 0xaf;
    else
        is_blank = at[1] == 0x81 && at[2] == 0x9f;
    return is_blank ? 3 : 0;
}

/* Appends text, each stretch of white space as one blank. */
static bool append_folded(Text *text, Slice slice, bool has_references) {
    const Byte *at = slice.start, *end = at + slice.size;
    /* A byte may bring a blank before it, and "&nGt;" is a byte longer when decoded. */
    if (!reserve(text, 2 * slice.size + LONGEST_REFERENCE))
        return false;
    while (at < end) {
        Byte kind = KINDS[*at];
        int blank = kind == BLANK ? 1 : kind == LEAD ? wide_blank(at, end) : 0;
        if (blank) {
            text->blank = true;
            at += blank;
            continue;
        }
        if (kind == AMPERSAND && has_references) {
            Byte decoded[LONGEST_REFERENCE];
            const Byte *after = at + 1;
            int size = reference(&after, end, false, decoded);
            if (size) {
                if (!append_folded(text, (Slice){decoded, size}, false))
                    return false;
                at = after;
                continue;
            }
        }
        Byte *out = text->start + text->size;
        if (text->blank && text->size)
            *out++ = ' ';
        text->blank = false;
        do
            *out++ = *at++;
        while (at < end && KINDS[*at] == PLAIN);
        text->size = out - text->start;
    }
    return true;
}

/* Appends the value of an attribute: with references decoded, and line ends as the standard wants them. */
static bool append_value(Text *text, Slice slice) {
    const Byte *at = slice.start, *end = at + slice.size;
    if (!reserve(text, 3 * slice.size + LONGEST_REFERENCE))
        return false;
    Byte *out = text->start + text->size;
    while (at < end) {
        Byte c = *at++;
        int size = c == '&' ? reference(&at, end, true, out) : c == 0 ? write_utf8(0xfffd, out) : 0;
        if (c == '\r') {
            at += at < end && *at == '\n';
            c = '\n';
        }
        if (!size)
            *out = c;
        out += size ? size : 1;
    }
    text->size = out - text->start;
    return true;
}

static PyObject *decoded(const Byte *start, Py_ssize_t size) {
    return PyUnicode_DecodeUTF8((const char *)start, size, "replace");
}

/* ---- Elements ---- */

enum Attribute { COLOR, CONTENT, ENCODING, FACE, HREF, HTTP_EQUIV, LANG, NAME, REL, SIZE, SRC, TYPE, ATTRIBUTES };

static const char *const ATTRIBUTE_NAMES[ATTRIBUTES] = {
    "color", "content", "encoding", "face", "href", "http-equiv", "lang", "name", "rel", "size", "src", "type",
};

enum Kind {
    LINK = 1 << 0,
    FRAME = 1 << 1,
    SAYING = 1 << 2,
    ROOT = 1 << 3,
    FRAMESET = 1 << 4,
    /* Dropped elsewhere than in a frameset. */
    ONLY_IN_FRAMESET = 1 << 23,
    /* Its end tag begins the body, if nothing has. */
    BEGINS_BODY = 1 << 24,
    HEAD_ELEMENT = 1 << 25,
    TITLE = 1 << 5,
    TEMPLATE = 1 << 6,
    NOSCRIPT = 1 << 7,
    /* Its text is not visible. */
    UNSEEN = 1 << 8,
    /* Whether its start tag may stand in the head, in a noscript there, or among frames. */
    IN_HEAD = 1 << 9,
    IN_HEAD_NOSCRIPT = 1 << 10,
    IN_FRAMESET = 1 << 11,
    /* What its content is, if it is not markup. */
    RCDATA = 1 << 12,
    RAWTEXT = 1 << 13,
    SCRIPT = 1 << 14,
    PLAINTEXT = 1 << 15,
    SVG = 1 << 16,
    MATH = 1 << 17,
    /* Where HTML goes on within svg or math. */
    SVG_INTEGRATION = 1 << 18,
    MATH_INTEGRATION = 1 << 19,
    ANNOTATION = 1 << 20,
    /* It ends svg and math. */
    BREAKOUT = 1 << 21,
    FONT = 1 << 22,
};

#define FOREIGN (SVG | MATH)
#define CONTENTS (RCDATA | RAWTEXT | SCRIPT | PLAINTEXT)
#define MARKED (LINK | FRAME | SAYING | ROOT)
/* Only these have a scope in HTML; within svg and math every element has. */
#define SCOPED (FOREIGN | TEMPLATE | NOSCRIPT)
#define WANTS(attribute) (1u << (attribute))

typedef struct {
    const char *name;
    unsigned kind;
    unsigned wanted;
} Element;

static const Element ELEMENTS[] = {
    {"html", ROOT | BEGINS_BODY | IN_HEAD | IN_HEAD_NOSCRIPT | IN_FRAMESET, WANTS(LANG)},
    {"head", HEAD_ELEMENT | IN_HEAD | IN_HEAD_NOSCRIPT | BREAKOUT, 0},
    {"base", SAYING | IN_HEAD, WANTS(HREF)},
    {"link", SAYING | IN_HEAD | IN_HEAD_NOSCRIPT, WANTS(HREF) | WANTS(REL) | WANTS(TYPE)},
    {"meta", SAYING | IN_HEAD | IN_HEAD_NOSCRIPT | BREAKOUT, WANTS(CONTENT) | WANTS(HTTP_EQUIV) | WANTS(NAME)},
    {"basefont", IN_HEAD | IN_HEAD_NOSCRIPT, 0},
    {"bgsound", IN_HEAD | IN_HEAD_NOSCRIPT, 0},
    {"title", TITLE | IN_HEAD | RCDATA | SVG_INTEGRATION, 0},
    {"script", IN_HEAD | SCRIPT | UNSEEN, 0},
    {"style", IN_HEAD | IN_HEAD_NOSCRIPT | RAWTEXT | UNSEEN, 0},
    {"noscript", NOSCRIPT | IN_HEAD | UNSEEN, 0},
    {"template", TEMPLATE | IN_HEAD | UNSEEN, 0},
    {"noframes", IN_HEAD | IN_HEAD_NOSCRIPT | IN_FRAMESET | RAWTEXT, 0},
    {"frameset", FRAMESET | ONLY_IN_FRAMESET, 0},
    {"frame", FRAME | IN_FRAMESET | ONLY_IN_FRAMESET, WANTS(SRC)},
    {"iframe", FRAME | RAWTEXT, WANTS(SRC)},
    {"a", LINK, WANTS(HREF) | WANTS(REL)},
    {"area", LINK, WANTS(HREF) | WANTS(REL)},
    {"textarea", RCDATA, 0},
    {"noembed", RAWTEXT, 0},
    {"xmp", RAWTEXT, 0},
    {"plaintext", PLAINTEXT, 0},
    {"svg", SVG, 0},
    {"foreignobject", SVG_INTEGRATION, 0},
    {"desc", SVG_INTEGRATION, 0},
    {"math", MATH, 0},
    {"mi", MATH_INTEGRATION, 0},
    {"mo", MATH_INTEGRATION, 0},
    {"mn", MATH_INTEGRATION, 0},
    {"ms", MATH_INTEGRATION, 0},
    {"mtext", MATH_INTEGRATION, 0},
    {"annotation-xml", ANNOTATION, WANTS(ENCODING)},
    {"font", FONT, WANTS(COLOR) | WANTS(FACE) | WANTS(SIZE)},
    {"b", BREAKOUT, 0},
    {"big", BREAKOUT, 0},
    {"blockquote", BREAKOUT, 0},
    {"body", BEGINS_BODY | BREAKOUT, 0},
    {"br", BEGINS_BODY | BREAKOUT, 0},
    {"center", BREAKOUT, 0},
    {"code", BREAKOUT, 0},
    {"dd", BREAKOUT, 0},
    {"div", BREAKOUT, 0},
    {"dl", BREAKOUT, 0},
    {"dt", BREAKOUT, 0},
    {"em", BREAKOUT, 0},
    {"embed", BREAKOUT, 0},
    {"h1", BREAKOUT, 0},
    {"h2", BREAKOUT, 0},
    {"h3", BREAKOUT, 0},
    {"h4", BREAKOUT, 0},
    {"h5", BREAKOUT, 0},
    {"h6", BREAKOUT, 0},
    {"hr", BREAKOUT, 0},
    {"i", BREAKOUT, 0},
    {"img", BREAKOUT, 0},
    {"li", BREAKOUT, 0},
    {"listing", BREAKOUT, 0},
    {"menu", BREAKOUT, 0},
    {"nobr", BREAKOUT, 0},
    {"ol", BREAKOUT, 0},
    {"p", BREAKOUT, 0},
    {"pre", BREAKOUT, 0},
    {"ruby", BREAKOUT, 0},
    {"s", BREAKOUT, 0},
    {"small", BREAKOUT, 0},
    {"span", BREAKOUT, 0},
    {"strong", BREAKOUT, 0},
    {"strike", BREAKOUT, 0},
    {"sub", BREAKOUT, 0},
    {"sup", BREAKOUT, 0},
    {"table", BREAKOUT, 0},
    {"tt", BREAKOUT, 0},
    {"u", BREAKOUT, 0},
    {"ul", BREAKOUT, 0},
    {"var", BREAKOUT, 0},
};

enum { ELEMENT_COUNT = sizeof(ELEMENTS) / sizeof(*ELEMENTS), SLOTS = 256 };

static const Element OTHER = {"", 0, 0};
/* An open hash table. The empty slots end a search. */
static const Element *element_slots[SLOTS];

#define HASH_START 2166136261u

static inline uint32_t hash_on(uint32_t hash, Byte c) { return (hash ^ lower(c)) * 16777619u; }

static const Element *element_of(Slice name, uint32_t hash) {
    for (uint32_t slot = hash;; slot++) {
        const Element *element = element_slots[slot % SLOTS];
        if (!element)
            return &OTHER;
        Py_ssize_t size = (Py_ssize_t)strlen(element->name);
        if (size == name.size && starts_with(name.start, name.start + name.size, element->name, size))
            return element;
    }
}

static void fill_element_slots(void) {
    for (int i = 0; i < ELEMENT_COUNT; i++) {
        uint32_t slot = HASH_START;
        for (const char *c = ELEMENTS[i].name; *c; c++)
            slot = hash_on(slot, (Byte)*c);
        while (element_slots[slot % SLOTS])
            slot++;
        element_slots[slot % SLOTS] = &ELEMENTS[i];
    }
}

/* ---- Tags ---- */

typedef struct {
    const Element *element;
    uint32_t hash;
    bool closes_itself;
    unsigned seen;
    Slice values[ATTRIBUTES];
} Tag;

static bool has(const Tag *tag, enum Attribute attribute) { return tag->seen & WANTS(attribute); }

/* The first of several attributes with one name counts. */
static void note_attribute(Tag *tag, unsigned wanted, Slice name, Slice value) {
    for (int i = 0; i < ATTRIBUTES; i++) {
        Py_ssize_t size = (Py_ssize_t)strlen(ATTRIBUTE_NAMES[i]);
        if (wanted & ~tag->seen & WANTS(i) && size == name.size &&
            starts_with(name.start, name.start + size, ATTRIBUTE_NAMES[i], size)) {
            tag->seen |= WANTS(i);
            tag->values[i] = value;
        }
    }
}

/* Behind a "=". NULL if the page ends before the value does. */
static const Byte *read_value(const Byte *at, const Byte *end, Slice *value) {
    at = past(BLANKS, at, end);
    if (at < end && (*at == '"' || *at == '\'')) {
        const Byte *close = find(*at, at + 1, end);
        *value = (Slice){at + 1, close - at - 1};
        return close < end ? close + 1 : NULL;
    }
    const Byte *close = until(VALUE_END, at, end);
    *value = (Slice){at, close - at};
    return close;
}

/* Reads a tag from its name on, and returns where it ends. NULL if the page ends before: then there is no such tag. */
static const Byte *read_tag(const Byte *at, const Byte *end, Tag *tag) {
    const Byte *start = at;
    uint32_t hash = HASH_START;
    for (; at < end && !among(TAG_NAME_END, *at); at++)
        hash = hash_on(hash, *at);
    tag->hash = hash;
    tag->element = element_of((Slice){start, at - start}, hash);
    tag->seen = 0;
    for (;;) {
        bool slash = false;
        for (; at < end && among(BLANKS | BIT('/'), *at); at++)
            slash = *at == '/';
        if (at == end)
            return NULL;
        if (*at == '>') {
            tag->closes_itself = slash;
            return at + 1;
        }
        Slice name = {at, 0}, value = {at, 0};
        /* An attribute's name may begin with a "=". */
        at = until(ATTRIBUTE_NAME_END, at + 1, end);
        name.size = at - name.start;
        const Byte *sign = past(BLANKS, at, end);
        if (sign < end && *sign == '=') {
            at = read_value(sign + 1, end, &value);
            if (!at)
                return NULL;
        }
        if (tag->element->wanted)
            note_attribute(tag, tag->element->wanted, name, value);
    }
}

/* Whether the end tag of an element is at a "<". */
static bool is_end_tag(const Byte *at, const Byte *end, const char *name) {
    Py_ssize_t size = (Py_ssize_t)strlen(name);
    return end - at > size + 2 && at[1] == '/' && starts_with(at + 2, end, name, size) &&
           among(TAG_NAME_END, at[2 + size]);
}

/* Where content that is no markup ends: at its end tag, or with the page. */
static const Byte *raw_end(const Byte *at, const Byte *end, const char *name) {
    while ((at = find('<', at, end)) < end && !is_end_tag(at, end, name))
        at++;
    return at;
}

/* A comment in a script hides the end tags of scripts that it writes. */
static const Byte *script_end(const Byte *at, const Byte *end) {
    bool is_escaped = false, is_nested = false;
    for (;; at++) {
        if (!is_escaped)
            at = find('<', at, end);
        if (at >= end)
            return end;
        if (*at == '-' && is_escaped && STARTS_WITH(at, end, "-->")) {
            is_escaped = is_nested = false;
        } else if (*at == '<' && is_end_tag(at, end, "script")) {
            if (!is_nested)
                return at;
            is_nested = false;
        } else if (*at == '<' && !is_escaped && STARTS_WITH(at, end, "<!--")) {
            is_escaped = true;
            /* The dashes may be those of its end. */
            at++;
        } else if (*at == '<' && is_escaped && STARTS_WITH(at, end, "<script") && end - at > 7) {
            is_nested |= among(TAG_NAME_END, at[7]);
        }
    }
}

/* Behind "<!--". The dashes of the start may be those of the end, as in "<!-->". */
static const Byte *comment_end(const Byte *at, const Byte *end) {
    const Byte *start = at;
    for (; (at = find('>', at, end)) < end; at++) {
        if (at[-1] == '-' && at[-2] == '-')
            return at + 1;
        if (at - start >= 3 && at[-1] == '!' && at[-2] == '-' && at[-3] == '-')
            return at + 1;
    }
    return end;
}

/* Behind "<![CDATA[": the "]]>", or the end of the page. */
static const Byte *cdata_end(const Byte *at, const Byte *end) {
    const Byte *start = at;
    for (; (at = find('>', at, end)) < end; at++)
        if (at - start >= 2 && at[-1] == ']' && at[-2] == ']')
            return at - 2;
    return end;
}

/* ---- The page ---- */

enum { MAX_SCOPES = 64 };

/* An open element that changes what other tokens mean. */
typedef struct {
    uint32_t hash;
    /* Of SVG, MATH, UNSEEN, TEMPLATE. */
    unsigned kind;
    bool is_integration;
    bool is_annotation;
} Scope;

typedef struct {
    const Byte *at, *end;
    enum { HEAD, AFTER_HEAD, BODY, FRAMES } place;
    Scope scopes[MAX_SCOPES];
    int depth;
    /* The number of scopes within the deepest that is kept: a page that nests deeper is hostile or broken. */
    Py_ssize_t deeper;
    /* The number of scopes of each kind. */
    int unseen, templates, drawings;
    Text text, buffer;
    Py_ssize_t most_text, marks_left;
    PyObject *language, *title, *sayings, *hrefs, *rels, *frames;
} Page;

static Scope *innermost(Page *page) { return page->depth ? &page->scopes[page->depth - 1] : NULL; }

static void count_scope(Page *page, unsigned kind, int change) {
    page->unseen += kind & UNSEEN ? change : 0;
    page->templates += kind & TEMPLATE ? change : 0;
    page->drawings += kind & SVG ? change : 0;
}

static void push_scope(Page *page, const Tag *tag, unsigned kind, bool is_integration) {
    if (page->depth == MAX_SCOPES) {
        page->deeper++;
        return;
    }
    bool is_annotation = kind & MATH && tag->element->kind & ANNOTATION;
    page->scopes[page->depth++] = (Scope){tag->hash, kind, is_integration, is_annotation};
    count_scope(page, kind, 1);
}

static void pop_scopes(Page *page, int depth) {
    page->deeper = 0;
    while (page->depth > depth)
        count_scope(page, page->scopes[--page->depth].kind, -1);
}

static bool is_foreign(Page *page) {
    Scope *scope = innermost(page);
    return scope && scope->kind & FOREIGN && !scope->is_integration;
}

static void leave_foreign(Page *page) {
    while (is_foreign(page))
        pop_scopes(page, page->depth - 1);
}

/* ---- What is taken ---- */

/* The value of an attribute, decoded; a NULL start after an error. It is valid until the next one is decoded. */
static Slice value_of(Page *page, const Tag *tag, enum Attribute attribute) {
    Slice value = tag->values[attribute];
    bool is_plain = true;
    for (Py_ssize_t i = 0; i < value.size && is_plain; i++)
        is_plain = value.start[i] != '&' && value.start[i] != '\r' && value.start[i] != 0;
    if (is_plain)
        return value;
    page->buffer.size = 0;
    if (!append_value(&page->buffer, value))
        return (Slice){NULL, 0};
    return (Slice){page->buffer.start, page->buffer.size};
}

static PyObject *text_of(Slice slice) { return slice.start ? decoded(slice.start, slice.size) : NULL; }

/* As `without_fragment` of Shoal's URLs: an index has thousands of fragments of a few pages. */
static Slice without_fragment(Slice href) {
    const Byte *end = href.start ? href.start + href.size : NULL;
    const Byte *hash = href.start ? find('#', href.start, end) : NULL;
    if (hash == end)
        return href;
    for (const Byte *at = href.start; at < end; at++)
        if (*at >= 0x80)
            return href;
    if (hash > href.start && (hash[-1] <= ' ' || hash[-1] == ':'))
        return href;
    return (Slice){href.start, hash > href.start ? hash - href.start : 1};
}

/* Takes over a reference; `item` may be NULL after an error. */
static bool append(PyObject *list, PyObject *item) {
    bool is_done = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return is_done;
}

static bool take_link(Page *page, const Tag *tag) {
    if (!has(tag, HREF) || !tag->values[HREF].size)
        return true;
    if (has(tag, REL)) {
        PyObject *place = PyLong_FromSsize_t(PyList_GET_SIZE(page->hrefs));
        PyObject *rel = place ? text_of(value_of(page, tag, REL)) : NULL;
        bool is_done = rel && PyDict_SetItem(page->rels, place, rel) == 0;
        Py_XDECREF(place);
        Py_XDECREF(rel);
        if (!is_done)
            return false;
    }
    return append(page->hrefs, text_of(without_fragment(value_of(page, tag, HREF))));
}

static bool take_saying(Page *page, const Tag *tag) {
    PyObject *attributes = PyDict_New();
    for (int i = 0; attributes && i < ATTRIBUTES; i++) {
        if (!has(tag, i))
            continue;
        PyObject *value = text_of(value_of(page, tag, i));
        if (!value || PyDict_SetItemString(attributes, ATTRIBUTE_NAMES[i], value) < 0)
            Py_CLEAR(attributes);
        Py_XDECREF(value);
    }
    PyObject *saying = attributes ? Py_BuildValue("(sN)", tag->element->name, attributes) : NULL;
    return append(page->sayings, saying);
}

static bool take(Page *page, const Tag *tag) {
    unsigned kind = tag->element->kind;
    if (kind & ROOT) {
        if (!page->language && has(tag, LANG))
            page->language = text_of(value_of(page, tag, LANG));
        return page->language || !has(tag, LANG);
    }
    if (page->marks_left == 0)
        return true;
    page->marks_left--;
    if (kind & LINK)
        return take_link(page, tag);
    if (kind & SAYING)
        return take_saying(page, tag);
    return !has(tag, SRC) || !tag->values[SRC].size || append(page->frames, text_of(value_of(page, tag, SRC)));
}

static bool take_title(Page *page, Slice content) {
    if (page->title || page->templates || page->drawings)
        return true;
    page->buffer.size = 0;
    page->buffer.blank = false;
    if (append_folded(&page->buffer, content, true))
        page->title = decoded(page->buffer.start, page->buffer.size);
    return page->title;
}

static bool is_text_taken(const Page *page) {
    return page->place == BODY && !page->unseen && page->text.size < page->most_text;
}

static void separate_words(Page *page) { page->text.blank = true; }

/* ---- Tokens ---- */

static bool is_before_body(const Page *page) { return page->place <= AFTER_HEAD; }

static void begin_body(Page *page) {
    if (is_before_body(page) && !page->templates) {
        /* What may not stand in a noscript of the head ends it. */
        pop_scopes(page, 0);
        page->place = BODY;
    }
}

static bool on_text(Page *page, Slice text, bool has_references) {
    if (is_before_body(page)) {
        if (past(BLANKS, text.start, text.start + text.size) == text.start + text.size)
            return true;
        begin_body(page);
    }
    return !is_text_taken(page) || append_folded(&page->text, text, has_references);
}

/* Behind the start tag of an element whose content is no markup. */
static bool on_content(Page *page, const Element *element) {
    const Byte *start = page->at, *end = page->end;
    if (element->kind & SCRIPT)
        end = script_end(start, end);
    else if (!(element->kind & PLAINTEXT))
        end = raw_end(start, end, element->name);
    Slice content = {start, end - start};
    bool has_references = element->kind & RCDATA;
    if (element->kind & TITLE && !take_title(page, content))
        return false;
    if (!(element->kind & UNSEEN) && is_text_taken(page) && !append_folded(&page->text, content, has_references))
        return false;
    separate_words(page);
    Tag end_tag;
    const Byte *after = end < page->end ? read_tag(end + 2, page->end, &end_tag) : NULL;
    page->at = after ? after : page->end;
    return true;
}

/* Moves from the head to where a start tag belongs. False if a browser drops the tag there. */
static bool finds_place(Page *page, unsigned kind) {
    if (page->templates)
        return true;
    if (page->place == FRAMES)
        return kind & IN_FRAMESET;
    if (is_before_body(page)) {
        bool in_noscript = page->depth;
        if (in_noscript && kind & NOSCRIPT)
            return false;
        if (in_noscript && !(kind & IN_HEAD_NOSCRIPT))
            pop_scopes(page, 0);
        if (kind & FRAMESET)
            page->place = FRAMES;
        else if (!(kind & IN_HEAD) || (kind & NOSCRIPT && page->place == AFTER_HEAD))
            page->place = BODY;
    }
    return !(kind & ONLY_IN_FRAMESET);
}

static bool on_html_start(Page *page, const Tag *tag) {
    unsigned kind = tag->element->kind;
    if (!kind)
        begin_body(page);
    if (!kind || !finds_place(page, kind))
        return true;
    if (kind & MARKED && !page->templates && !take(page, tag))
        return false;
    if (kind & SCOPED && !(kind & FOREIGN && tag->closes_itself))
        push_scope(page, tag, kind & (SCOPED | UNSEEN), false);
    return !(kind & CONTENTS) || on_content(page, tag->element);
}

static bool breaks_out(const Tag *tag) {
    return tag->element->kind & BREAKOUT ||
           (tag->element->kind & FONT && (has(tag, COLOR) || has(tag, FACE) || has(tag, SIZE)));
}

static bool is_html_annotation(const Tag *tag) {
    if (!(tag->element->kind & ANNOTATION) || !has(tag, ENCODING))
        return false;
    Slice value = tag->values[ENCODING];
    const Byte *start = value.start, *end = start + value.size;
    return (value.size == 9 && STARTS_WITH(start, end, "text/html")) ||
           (value.size == 21 && STARTS_WITH(start, end, "application/xhtml+xml"));
}

static bool on_foreign_start(Page *page, const Tag *tag) {
    unsigned kind = tag->element->kind;
    if (kind & MARKED && !(kind & ROOT) && !page->templates && !take(page, tag))
        return false;
    if (tag->closes_itself)
        return true;
    unsigned space = innermost(page)->kind & FOREIGN;
    bool is_integration = space & SVG ? kind & SVG_INTEGRATION : kind & MATH_INTEGRATION || is_html_annotation(tag);
    push_scope(page, tag, space | (kind & UNSEEN), is_integration);
    return true;
}

static bool on_start(Page *page, const Tag *tag) {
    separate_words(page);
    if (!is_foreign(page) || (innermost(page)->is_annotation && tag->element->kind & SVG))
        return on_html_start(page, tag);
    if (!breaks_out(tag))
        return on_foreign_start(page, tag);
    leave_foreign(page);
    return on_html_start(page, tag);
}

static void on_end(Page *page, const Tag *tag) {
    separate_words(page);
    unsigned kind = tag->element->kind;
    if (kind & BEGINS_BODY && !page->depth)
        begin_body(page);
    if (kind & HEAD_ELEMENT && !page->depth && page->place == HEAD)
        page->place = AFTER_HEAD;
    if (page->deeper && (kind & SCOPED || is_foreign(page))) {
        page->deeper--;
        return;
    }
    for (int i = page->depth - 1; i >= 0; i--) {
        Scope *scope = &page->scopes[i];
        if (scope->hash == tag->hash) {
            pop_scopes(page, i);
            return;
        }
        if (scope->kind & TEMPLATE || (scope->is_integration && !(kind & SCOPED)))
            break;
    }
    if (kind & BREAKOUT)
        leave_foreign(page);
}

/* At "<!" or "<?", or at "</" without a name. All but CDATA and a doctype are comments, which separate words. */
static bool on_declaration(Page *page) {
    const Byte *at = page->at, *end = page->end;
    Scope *scope = innermost(page);
    if (STARTS_WITH(at, end, "<!--")) {
        page->at = comment_end(at + 4, end);
    } else if (scope && scope->kind & FOREIGN && end - at >= 9 && !memcmp(at, "<![CDATA[", 9)) {
        const Byte *close = cdata_end(at + 9, end);
        page->at = close < end ? close + 3 : end;
        return on_text(page, (Slice){at + 9, close - at - 9}, false);
    } else {
        const Byte *close = find('>', at, end);
        page->at = close < end ? close + 1 : end;
        if (STARTS_WITH(at, end, "<!doctype") || STARTS_WITH(at, end, "</>"))
            return true;
    }
    separate_words(page);
    return true;
}

/* At a "<". */
static bool on_markup(Page *page) {
    const Byte *at = page->at, *end = page->end;
    bool is_end = end - at > 2 && at[1] == '/';
    const Byte *name = at + 1 + is_end;
    if (name < end && is_letter(*name)) {
        Tag tag;
        const Byte *after = read_tag(name, end, &tag);
        page->at = after ? after : end;
        if (after && is_end)
            on_end(page, &tag);
        return !after || is_end || on_start(page, &tag);
    }
    if (is_end || (name < end && (*name == '!' || *name == '?')))
        return on_declaration(page);
    page->at++;
    return on_text(page, (Slice){at, 1}, false);
}

static bool scan_page(Page *page) {
    while (page->at < page->end) {
        const Byte *start = page->at;
        page->at = find('<', start, page->end);
        if (page->at > start && !on_text(page, (Slice){start, page->at - start}, true))
            return false;
        if (page->at < page->end && !on_markup(page))
            return false;
    }
    return true;
}

/* ---- Whether a page shows enough without its scripts ---- */

/*
 * The counts of page_statistics.py, and no others: what a page shows is judged by those. Most pages show enough after a
 * few kilobytes, so this ends long before the page does.
 */
typedef struct {
    const Byte *at, *end, *last_close;
    Py_ssize_t text, links;
} Shown;

#define SHOWN_BLANKS (BLANKS | BIT('\v'))

static const char *const RAW_ELEMENTS[] = {"noscript", "script", "style", "svg", "template", "textarea", "title"};

enum { RAW_ELEMENT_COUNT = sizeof(RAW_ELEMENTS) / sizeof(*RAW_ELEMENTS) };

static Py_ssize_t shown_bytes(const Byte *at, const Byte *end) {
    Py_ssize_t size = 0;
    while (at < end) {
        if (*at == '&' && STARTS_WITH(at, end, "&nbsp;")) {
            at += 6;
            continue;
        }
        size += !among(SHOWN_BLANKS, *at++);
    }
    return size;
}

/* Within the attributes of an <a>. */
static bool leads_to_page(const Byte *start, const Byte *end) {
    static const uint64_t BEFORE_NAME = SHOWN_BLANKS | BIT('"') | BIT('\'') | BIT('/');
    for (const Byte *at = start; end - at >= 5; at++) {
        if (lower(*at) != 'h' || !STARTS_WITH(at, end, "href") || (at > start && !among(BEFORE_NAME, at[-1])))
            continue;
        const Byte *value = past(SHOWN_BLANKS, at + 4, end);
        if (value == end || *value != '=')
            continue;
        value = past(SHOWN_BLANKS, value + 1, end);
        value = past(SHOWN_BLANKS, value + (value < end && (*value == '"' || *value == '\'')), end);
        return !STARTS_WITH(value, end, "#") && !STARTS_WITH(value, end, "javascript:") &&
               !STARTS_WITH(value, end, "mailto:") && !STARTS_WITH(value, end, "tel:");
    }
    return false;
}

/* The name of a start tag, if what follows it is no markup. */
static const char *raw_element(const Byte *name, Py_ssize_t size) {
    for (int i = 0; i < RAW_ELEMENT_COUNT; i++)
        if ((Py_ssize_t)strlen(RAW_ELEMENTS[i]) == size && starts_with(name, name + size, RAW_ELEMENTS[i], size))
            return RAW_ELEMENTS[i];
    return NULL;
}

/* The next "</" with this name, or with one that begins so; NULL: there is none. */
static const Byte *shown_raw_end(const Byte *at, const Byte *end, const char *name) {
    Py_ssize_t size = strlen(name);
    while ((at = find('<', at, end)) < end) {
        if (end - at > 1 && at[1] == '/' && starts_with(at + 2, end, name, size))
            return at;
        at++;
    }
    return NULL;
}

/* At a "<" before the last ">". False: nothing after it counts. */
static bool pass_markup(Shown *shown) {
    const Byte *at = shown->at, *end = shown->end;
    bool is_end = at[1] == '/';
    const Byte *name = at + 1 + is_end, *after = NULL;
    if (is_letter(*name)) {
        const Byte *close = find('>', name, end);
        after = close + 1;
        if (!is_end) {
            const Byte *name_end = until(SHOWN_BLANKS | BIT('/') | BIT('>'), name, end);
            const char *raw = raw_element(name, name_end - name);
            if (name_end - name == 1 && lower(*name) == 'a')
                shown->links += leads_to_page(name_end, close);
            if (raw)
                after = shown_raw_end(after, end, raw);
        }
    } else if (STARTS_WITH(at, end, "<!--")) {
        for (const Byte *close = at + 6; !after && (close = find('>', close, end)) < end; close++)
            if (close[-1] == '-' && close[-2] == '-')
                after = close + 1;
    } else {
        after = is_end || at[1] == '!' || at[1] == '?' ? find('>', at, end) + 1 : at + 1;
    }
    shown->at = after;
    return after;
}

static bool shows_enough(Shown *shown, Py_ssize_t most_tags, Py_ssize_t enough_text, Py_ssize_t enough_links) {
    for (Py_ssize_t i = 0; i < most_tags; i++) {
        const Byte *start = shown->at;
        shown->at = find('<', start, shown->end);
        shown->text += shown_bytes(start, shown->at);
        if (shown->text >= enough_text || shown->links >= enough_links)
            return true;
        if (shown->at >= shown->last_close || !pass_markup(shown))
            return false;
    }
    return false;
}

/* ---- Python's side ---- */

static PyObject *or_none(PyObject *value) { return value ? value : Py_None; }

static PyObject *scan(PyObject *Py_UNUSED(module), PyObject *arguments) {
    Py_buffer html;
    PyObject *result = NULL;
    Page page = {0};
    if (!PyArg_ParseTuple(arguments, "y*nn", &html, &page.marks_left, &page.most_text))
        return NULL;
    page.at = html.buf;
    page.end = page.at + html.len;
    page.sayings = PyList_New(0);
    page.hrefs = PyList_New(0);
    page.rels = PyDict_New();
    page.frames = PyList_New(0);
    if (page.sayings && page.hrefs && page.rels && page.frames && scan_page(&page)) {
        PyObject *text = PyBytes_FromStringAndSize((const char *)page.text.start, page.text.size);
        if (text)
            result = Py_BuildValue("(OOOOOON)", or_none(page.language), or_none(page.title), page.sayings, page.hrefs,
                                   page.rels, page.frames, text);
    }
    Py_XDECREF(page.language);
    Py_XDECREF(page.title);
    Py_XDECREF(page.sayings);
    Py_XDECREF(page.hrefs);
    Py_XDECREF(page.rels);
    Py_XDECREF(page.frames);
    PyMem_RawFree(page.text.start);
    PyMem_RawFree(page.buffer.start);
    PyBuffer_Release(&html);
    return result;
}

static PyObject *enough(PyObject *Py_UNUSED(module), PyObject *arguments) {
    Py_buffer html;
    Py_ssize_t most_bytes, most_tags, enough_text, enough_links;
    if (!PyArg_ParseTuple(arguments, "y*nnnn", &html, &most_bytes, &most_tags, &enough_text, &enough_links))
        return NULL;
    const Byte *start = html.buf, *end = start + (html.len < most_bytes ? html.len : most_bytes);
    Shown shown = {.at = start, .end = end, .last_close = end};
    while (shown.last_close > start && *--shown.last_close != '>')
        ;
    bool is_enough = shows_enough(&shown, most_tags, enough_text, enough_links);
    PyBuffer_Release(&html);
    return PyBool_FromLong(is_enough);
}

static PyMethodDef METHODS[] = {
    {"shows_enough", enough, METH_VARARGS,
     "shows_enough(html, most_bytes, most_tags, enough_text, enough_links): as page_statistics.py counts."},
    {"scan", scan, METH_VARARGS, "scan(html, most_marks, most_text): what a crawler needs of a page; see scan_parser.py."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_scan_page", NULL, -1, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__scan_page(void) {
    fill_element_slots();
    fill_reference_starts();
    return PyModule_Create(&MODULE);
}
