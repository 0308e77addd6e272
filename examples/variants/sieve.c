/* sieve: counts the primes below a number. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    size_t limit = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    unsigned char *composite = calloc(limit + 1, 1);
    size_t primes = 0;
    if (composite == NULL) {
        fprintf(stderr, "sieve: no memory for %zu numbers\n", limit);
        return 1;
    }
    for (size_t number = 2; number < limit; number++) {
        if (composite[number])
            continue;
        primes++;
        for (size_t multiple = number * number; multiple < limit; multiple += number)
            composite[multiple] = 1;
    }
    printf("%zu\n", primes);
    free(composite);
    return 0;
}
