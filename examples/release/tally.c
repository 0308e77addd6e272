/* tally: counts words on standard input and prints the most frequent ones. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION "unreleased"
#endif

enum { SLOTS = 65536, LONGEST = 64 };

struct word {
    char text[LONGEST];
    unsigned long count;
};

static struct word words[SLOTS];
static size_t used;

static struct word *slot_of(const char *text) {
    unsigned long hash = 5381;
    for (const char *c = text; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    size_t at = hash % SLOTS;
    while (words[at].count && strcmp(words[at].text, text) != 0)
        at = (at + 1) % SLOTS;
    return &words[at];
}

static void count(const char *text) {
    struct word *word = slot_of(text);
    if (word->count++ == 0) {
        if (++used == SLOTS) {
            fprintf(stderr, "tally: more than %d different words\n", SLOTS - 1);
            exit(1);
        }
        strcpy(word->text, text);
    }
}

static int by_count(const void *left, const void *right) {
    const struct word *a = left, *b = right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return strcmp(a->text, b->text);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("tally " VERSION);
        return 0;
    }
    unsigned long top = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
    char text[LONGEST];
    size_t length = 0;
    for (int c = getchar();; c = getchar()) {
        if (c != EOF && isalnum(c)) {
            if (length < LONGEST - 1)
                text[length++] = (char)tolower(c);
            continue;
        }
        if (length > 0) {
            text[length] = '\0';
            count(text);
            length = 0;
        }
        if (c == EOF)
            break;
    }
    qsort(words, SLOTS, sizeof words[0], by_count);
    for (size_t at = 0; at < top && at < used; at++)
        printf("%lu %s\n", words[at].count, words[at].text);
    return 0;
}
