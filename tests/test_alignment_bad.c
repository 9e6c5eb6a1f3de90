/* Bad and odd alignments, by number: cases 1-91 of the project's list of bad inputs (22, an input
 * that is an output too, is in test_cli.c); 0 is not on the list. A is accepted silently, N with
 * exactly one note or warning, R is refused with errors of the form `file:line:column: error: what
 * -- how to fix it`. The program says the same and ends with 0, or 2 where the input is refused. */
#include "support/check.h"
#include "support/files.h"
#include "support/gzip.h"
#include "support/run.h"

#include "artreeformer.h"
#include "seq/alignment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ABC ">a\nACGT\n>b\nACGA\n>c\nACGC\n" /* nothing to say about this one */
#define BLOCK(format, matrix)                                                              \
    "#NEXUS\nbegin data;\ndimensions ntax=3 nchar=4;\nformat " format ";\nmatrix\n" matrix \
    ";\nend;\n"
/* Two TAXA blocks with titles, and a matrix from line 4 on. */
#define LINKED(link, format, matrix)                                              \
    "#NEXUS begin taxa; title Plants; dimensions ntax=3; taxlabels x y z; end;\n" \
    "begin taxa; title the_beasts; dimensions ntax=3; taxlabels a b c; end;\n"    \
    "begin characters; " link " dimensions nchar=4; " format " matrix\n" matrix "; end;"
#define ROWS   "a ACGT\nb ACGA\nc ACGC\n"
#define MATRIX BLOCK("datatype=dna", ROWS)

enum { WHOLE_FILE = 1, STRICT = 2, FULL = 4 };

typedef struct bad_case {
    int number;
    const char *label;
    char verdict;
    int flags; /* WHOLE_FILE: the error belongs to no line; the others are options */
    const char *text;
    const char *words; /* what the message must have, separated by '|' */
    size_t size;       /* of the text; 0: up to its NUL */
} bad_case;

#define WITH_NUL ">a\nACGT\n>b\nAC\0A\n>c\nACGC\n"

#define NUL_IN_COMMENT                                                                       \
    "#NEXUS [it's \0 [odd\0]] begin data; dimensions ntax=3 nchar=4; format datatype=dna;\n" \
    "matrix a ACGT b ACGA c ACGC; end;"
#define NUL_IN_MATRIX \
    "#NEXUS [x\0y] begin data; dimensions ntax=3 nchar=4; matrix a A\0GT b ACGA c ACGC; end;"

static const bad_case CASES[] = {
    {3, "0-byte file", 'R', WHOLE_FILE, "", "empty", 0},
    {4, "only blank lines", 'R', WHOLE_FILE, "\n \n\t\r\n", "empty", 0},
    {5, "UTF-8 BOM", 'A', 0, "\xEF\xBB\xBF" ABC, "", 0},
    {6, "UTF-16 BOM", 'R', 0, "\xFF\xFE>\0a\0", "UTF-16|save it as plain text", 6},
    {7, "CR LF", 'A', 0, ">a\r\nACGT\r\n>b\r\nACGA\r\n>c\r\nACGC\r\n", "", 0},
    {8, "CR only", 'A', 0, ">a\rACGT\r>b\rACGA\r>c\rACGC\r", "", 0},
    {9, "mixed line ends", 'A', 0, ">a\rACGT\r\n>b\nACGA\r\n>c\rACGC", "", 0},
    {10, "no final newline", 'A', 0, ">a\nACGT\n>b\nACGA\n>c\nACGC", "", 0},
    {11, "NUL byte", 'R', 0, WITH_NUL, ":4:3: error|NUL|offset 13", sizeof WITH_NUL - 1},
    {11, "NUL byte in a comment", 'N', 0, NUL_IN_COMMENT, "NUL|comments",
     sizeof NUL_IN_COMMENT - 1},
    {11, "NUL byte in a matrix", 'R', 0, NUL_IN_MATRIX, ":1:63: error|NUL|offset",
     sizeof NUL_IN_MATRIX - 1},
    {12, "^A in a header", 'N', 0, ">a\001x\nACGT\n>b\nACGA\n>c\nACGC", "'\\x01'|shortened to 'a'",
     0},
    {13, "invalid UTF-8 in a name", 'R', 0, ">a\nACGT\n>b\xFFz\nACGA\n>c\nACGC",
     ":3:3: error|UTF-8|'b\\xFFz'", 0},
    {14, "valid non-ASCII names", 'A', 0, ">\xC3\xA9t\xC3\xA9\nACGT\n>b\nACGA\n>c\nACGC", "", 0},
    {21, "HTML page", 'R', 0, "<!DOCTYPE html>\n<html>", ":1:1: error|'<!DOCTYPE html>", 0},
    {21, "PDF", 'R', 0, "%PDF-1.4\n%\xE2\xE3", "'%PDF-1.4|FASTA|PHYLIP|NEXUS", 0},
    {21, "binary", 'R', 0,
     "\x7F"
     "ELF\x02\x01\x01",
     "'\\x7FELF\\x02", 0},

    {25, "first line not '>'", 'R', 0, "ACGT\n" ABC, ":1:1: error|'ACGT|begins with '>'", 0},
    {25, "behind a comment", 'R', 0, ";x\nACGT\n" ABC, ":2:1: error|'>'", 0},
    {26, "extra '>' in a header", 'A', 0, ">a>x\nACGT\n>>b\nACGA\n>c >d\nACGC", "", 0},
    {27, "empty name", 'R', 0, ">\nACGT\n>b\nACGA\n>c\nACGC", ":1:2: error|empty name", 0},
    {28, "empty sequence", 'R', 0, ">a\nACGT\n>b\n>c\nACGC", ":3:2: error|'b'|empty", 0},
    {28, "only record empty", 'R', WHOLE_FILE, ">a\n", "1 sequence", 0},
    {29, "duplicate name", 'R', 0, ">a\nACGT\n>b\nACGA\n>a\nACGC", ":5:2: error|'a'|line 1", 0},
    {30, "same first word", 'R', 0, ">a x\nACGT\n>b\nACGA\n>a y\nACGC",
     ":5:2: error|'a'|line 1|read full names", 0},
    {30, "same first word, full names", 'A', FULL, ">a x\nACGT\n>b\nACGA\n>a y\nACGC", "", 0},
    {31, "names equal but for case", 'N', 0, ">a\nACGT\n>b\nACGA\n>A\nACGC", "'a' and 'A'|case", 0},
    {32, "equal after folding", 'R', FULL, ">a b\nACGT\n>b\nACGA\n>a_b\nACGC",
     ":5:2: error|'a b' and 'a_b'|underscore", 0},
    {33, "( ) , : ; [ ] ' in a name", 'A', 0, ">(a)[b]\nACGT\n>b,:;'c\nACGA\n>c\nACGC", "", 0},
    {35, "numeric names", 'A', 0, ">1\nACGT\n>2\nACGA\n>003\nACGC", "", 0},
    {36, "names like paths, options, markup", 'A', 0,
     ">../../x\nACGT\n>--help\nACGA\n><script>\nACGC\n>=cmd()\nACGG", "", 0},
    {37, "ragged lengths", 'R', 0, ">a\nACGT\n>b\nACG\n>c\nACGC", ":3:2: error|'b' has 3|4", 0},
    {37, "the first is the odd one", 'R', 0, ">a\nACG\n>b\nACGA\n>c\nACGC", ":1:2: error|'a' has 3",
     0},
    {38, "spaces inside a sequence", 'A', 0, ">a\nAC GT\n>b\n A C\tGA \n>c\nACGC", "", 0},
    {39, "digits in a sequence", 'R', 0, ">a\n1 ACGT\n>b\nACGAA\n>c\nACGCA",
     ":2:1: error|'1'|position numbers", 0},
    {39, "digits among bases", 'R', 0, ">a\nAC01GTACG\n>b\nAC11GTACG\n>c\nAC00GTACG",
     ":2:3: error|'0'|digits are not nucleotides|morphological", 0},
    {0, "binary characters", 'R', 0, ">a\n01?0\n>b\n0110\n>c\n0-11",
     ":2:1: error|binary|'0' at site 1 of sequence 'a'|nucleotides only", 0},
    {0, "binary characters with position numbers", 'R', 0, "3 4\na 0 1 0 1\nb 0110\nc 0011",
     ":2:3: error|binary", 0},
    {0, "morphology and DNA", 'R', 0, ">a\nACGT\n>b\n0123\n>c\nACGC",
     ":4:1: error|'0' at site 1 of sequence 'b'|other sequences have bases", 0},
    {40, "invalid character", 'R', 0, ">a\nACGT\n>b\nAC@A\n>c\nACGC",
     ":4:3: error|'@'|sequence 'b'|site 3", 0},
    {40, "invalid byte", 'R', 0,
     ">a\nACGT\n>b\nAC\xFF"
     "A\n>c\nACGC",
     ":4:3: error|'\\xFF'|site 3", 0},
    {40, "one protein letter is a typing error", 'R', 0, ">a\nACGT\n>b\nACEA\n>c\nACGC",
     ":4:3: error|'E'|site 3", 0},
    {41, "lower case", 'A', 0, ">a\nacgt\n>b\nAcGa\n>c\nacgc", "", 0},
    {42, "U alone", 'A', 0, ">a\nACGU\n>b\nACGA\n>c\nACGC", "", 0},
    {42, "U and T", 'N', 0, ">a\nACGU\n>b\nACTA\n>c\nACGC", "T and U", 0},
    {43, "'*' in DNA", 'R', 0, ">a\nACGT\n>b\nACG*\n>c\nACGC", ":4:4: error|'*'|stop codon", 0},
    {44, "'.' in FASTA", 'N', 0, ">a\nAC..\n>b\nAC.A\n>c\nACGC", "'.'|unknown", 0},
    {44, "'.' in PHYLIP", 'N', 0, "3 4\na AC..\nb AC.A\nc ACGC", "'.'|unknown", 0},
    {44, "'.' in NEXUS, not declared", 'R', 0, BLOCK("datatype=dna", "a ACGT\nb ..GA\nc ACGC\n"),
     ":7:3: error|MATCHCHAR", 0},
    {45, "? N X - ~ O", 'A', 0, ">a\nACGT?NX-~O\n>b\nACGA-ACGTA\n>c\nACGCAACGTA", "", 0},
    {46, "IUPAC codes", 'A', 0, ">a\nRYSWKMBDHV\n>b\nACGTACGTAC\n>c\nTTTTTTTTTT", "", 0},
    {47, "'!'", 'N', 0, ">a\nAC!T\n>b\nACGA\n>c\nACGC", "'!'|gap", 0},
    {48, "{AC}", 'R', 0, ">a\nA{AC}T\n>b\nACGACA\n>c\nACGCCA", ":2:2: error|'{'|IUPAC", 0},
    {48, "{AC} for a base", 'R', 0, ">a\nAC{AC}T\n>b\nACGT\n>c\nACGC",
     ":2:3: error|'a' has 7 characters where most have 4|IUPAC", 0},
    {48, "(AC) in NEXUS", 'N', 0, BLOCK("datatype=dna", "a ACGT\nb AC(AC)T\nc ACGC\n"),
     ":7:5: note|sets of bases|ambiguous", 0},
    {48, "{A C} in interleaved NEXUS", 'N', 0,
     BLOCK("interleave", "a AC\nb {A C}C\nc AC\n\na GT\nb GA\nc GC\n"), ":7:3: note|sets", 0},
    {48, "set that is not closed", 'R', 0, BLOCK("datatype=dna", "a ACGT\nb AC{AT\nc ACGC\n"),
     ":7:5: error|'b' has more than the 4|close the set", 0},
    {48, "set that is not closed, by chance", 'R', 0,
     BLOCK("datatype=dna", "a ACGT\nb AC{A\nc ACGC\n"), ":7:5: error|'{'|close the set", 0},
    {48, "empty set", 'R', 0, BLOCK("datatype=dna", "a ACGT\nb AC{}T\nc ACGC\n"),
     ":7:5: error|'{'|site 3", 0},
    {48, "set of something else", 'R', 0, BLOCK("datatype=dna", "a ACGT\nb AC{A5}T\nc ACGC\n"),
     ":7:7: error|'5'|site 3", 0},
    {49, "protein", 'R', 0, ">a\nMKVLEQ\n>b\nMKVLEP\n>c\nMKILEQ",
     ":2:4: error|looks like protein|'a' has E, L, Q, first L at site 4|nucleotides only", 0},
    {50, "DNA with much ambiguity", 'A', 0, ">a\nNNRYKMSWNN\n>b\nRYNNNNBDHV\n>c\nNACGTNNNNN", "",
     0},
    {51, "mixed DNA and protein", 'R', 0, ">a\nACGTAC\n>b\nMKVLEP\n>c\nACGTAA",
     ":4:4: error|sequence 'b' looks like protein", 0},
    {52, "sequence of gaps", 'N', 0, ">a\nACGT\n>b\n--N?\n>c\nACGC", "'b'|without a single base",
     0},
    {53, "columns of gaps", 'N', 0, ">a\nAC-T\n>b\nAC-A\n>c\nAC-C", "1 of 4|ignored", 0},
    {54, "identical sequences", 'N', 0, ">a\nACGT\n>b\nACGA\n>c\nACGT", "identical|'c' = 'a'", 0},
    {55, "no variable site", 'N', 0, ">a\nACG-\n>b\nAC-T\n>c\nA-GT", "no site varies", 0},
    {56, "1 taxon", 'R', WHOLE_FILE, ">a\nACGT", "1 sequence|at least 3", 0},
    {56, "2 taxa", 'R', WHOLE_FILE, ">a\nACGT\n>b\nACGA", "2 sequences|at least 3", 0},
    {56, "0 taxa", 'R', 0, "0 4\n", "'0'|out of range", 0},
    {57, "3 taxa", 'A', 0, ABC, "", 0},
    {58, "1 site", 'A', 0, ">a\nA\n>b\nC\n>c\nG", "", 0},
    {59, "0 sites", 'R', 0, "3 0\na\nb\nc", ":1:3: error|sites|'0'", 0},
    {59, "0 sites in FASTA", 'R', WHOLE_FILE, ">a\n>b\n>c\n", "no sites", 0},
    {59, "no base at all", 'R', WHOLE_FILE, ">a\n--\n>b\nNN\n>c\n??", "not contain a single base",
     0},
    {64, "';' comment lines", 'N', 0, "; x\n>a\nACGT\n>b\nACGA\n;y\n>c\nACGC", "';'|comments", 0},
    {64, "';' inside a line", 'R', 0, ">a\nACGT;\n>b\nACGAA\n>c\nACGCA", ":2:5: error|';'", 0},

    {65, "no header", 'R', 0, "a ACGT\nb ACGA\nc ACGC\n",
     ":1:1: error|numbers of sequences and sites", 0},
    {65, "header with one number", 'R', 0, "3\na ACGT\nb ACGA\nc ACGC\n",
     ":1:2: error|number of sites", 0},
    {65, "header not numbers", 'R', 0, "3 4x\na ACGT\nb ACGA\nc ACGC\n", ":1:3: error|'4x'", 0},
    {66, "ntax larger than rows", 'R', 0, "4 4\na ACGT\nb ACGA\nc ACGC\n", ":1:1: error|4|3", 0},
    {66, "ntax smaller than rows", 'R', 0, "3 4\na ACGT\nb ACGA\nc ACGC\nd ACGG\n",
     ":5:1: error|3 sequences", 0},
    {67, "nsite mismatch", 'R', 0, "3 4\na ACGT\nb ACG\nc ACGC\n", ":3:1: error|'b' has 3|4", 0},
    {67, "nsite mismatch, wrapped", 'R', 0, "3 4\na AC\nGT\nb AC\nG\nc AC\nGC\n",
     ":4:1: error|'b' has 6|4|header", 0},
    {68, "negative", 'R', 0, "-4 4\na ACGT\n", ":1:1: error|'-4'|range", 0},
    {68, "too large for 64 bits", 'R', 0, "3 99999999999999999999\na ACGT\nb ACGA\nc ACGC",
     ":1:3: error|range", 0},
    {68, "large, not allocated", 'R', 0, "4000000000 4000000000\na ACGT\n", "4000000000 sequences",
     0},
    {69, "strict names, not asked for", 'N', 0,
     "3 4\nHomo_sapieACGT\nPan_troglaACGA\nGorilla_goACGC\n", ":1:1: note|strict PHYLIP", 0},
    {69, "strict names with blanks, in blocks", 'N', 0,
     "3 6\nHomo sapieACG\nPan       ACG\nGorilla goACG\n\nTAC\nAAC\nCAC\n",
     ":1:1: note|strict PHYLIP", 0},
    {69, "neither strict nor relaxed", 'R', 0,
     "3 4\nHomo_sapieACGT\nPan_troglaACGAA\nGorilla_goACGC\n",
     ":2:1: error|as strict PHYLIP|does not fit either", 0},
    {69, "strict, asked for, is wrong", 'R', STRICT, "3 4\na ACGT\nb ACGA\nc ACGC\n",
     ":2:1: error|'a ACGT' is empty|do not read the file as strict", 0},
    {69, "strict names", 'A', STRICT, "3 4\nHomo_sapieACGT\nPan_troglaACGA\nGorilla_goACGC\n", "",
     0},
    {70, "interleaved, blank lines", 'A', 0, "3 6\na ACG\nb ACG\nc ACG\n\nTAC\nAAC\nCAC\n", "", 0},
    {70, "interleaved, no blank lines", 'A', 0, "3 6\na ACG\nb ACG\nc ACG\nTAC\nAAC\nCAC\n", "", 0},
    {71, "blocks of unequal width", 'A', 0, "3 6\na ACG\nb ACGA\nc A\n\nTAC\nAC\nCGCAC\n", "", 0},
    {71, "blocks of unequal width, wrong total", 'R', 0,
     "3 6\na ACG\nb ACGA\nc A\n\nTAC\nA\nCGCAC\n", ":3:1: error|'b' has 5", 0},
    {72, "names repeated in later blocks", 'A', 0,
     "3 6\na ACG\nb ACG\nc ACG\n\na TAC\nb AAC\nc CAC\n", "", 0},
    {73, "sequential but wrapped", 'A', 0, "3 6\na ACG\nTAC\nb ACG\nAAC\nc ACG\nCAC\n", "", 0},
    {74, "options in the header", 'N', 0, "3 4 I\na ACGT\nb ACGA\nc ACGC\n", "'I'|ignored", 0},
    {74, "more numbers in the header", 'R', 0, "3 4 5\na ACGT\nb ACGA\nc ACGC\n", ":1:5: error|'5'",
     0},
    {75, "several data sets", 'R', 0, "3 4\na ACGT\nb ACGA\nc ACGC\n3 4\na ACGT\nb ACGA\nc ACGC\n",
     ":5:1: error|second data set", 0},
    {76, "tabs", 'A', 0, "3\t4\na\tACGT\nb\tACGA\nc\tACGC\n", "", 0},

    {77, "no #NEXUS", 'R', 0, "begin data;\nmatrix", ":1:1: error|'begin data;|#NEXUS", 0},
    {78, "no ';' behind BEGIN", 'R', 0, "#NEXUS begin data\ndimensions ntax=3 nchar=4;",
     ":2:1: error|';'|semicolon", 0},
    {78, "no ';' behind DIMENSIONS", 'R', 0,
     "#NEXUS begin data; dimensions ntax=3 nchar=4\nformat datatype=dna; matrix\n" ROWS ";end;",
     ":2:1: error|'format'|semicolon", 0},
    {78, "no ';' behind FORMAT", 'R', 0,
     "#NEXUS begin data; dimensions ntax=3 nchar=4; format datatype=dna\nmatrix\n" ROWS ";end;",
     ":2:1: error|'matrix'|semicolon", 0},
    {78, "no ';' behind MATRIX", 'R', 0,
     "#NEXUS begin data; dimensions ntax=3 nchar=4; matrix\n" ROWS "end;",
     ":5:1: error|';'|semicolon", 0},
    {78, "no END", 'R', 0, "#NEXUS begin data; dimensions ntax=3 nchar=4; matrix\n" ROWS ";",
     "END|file ends", 0},
    {79, "ntax larger than rows", 'R', 0,
     "#NEXUS begin data; dimensions ntax=4 nchar=4; matrix\n" ROWS ";end;", ":1:31: error|4|3 rows",
     0},
    {79, "ntax smaller than rows", 'R', 0,
     "#NEXUS begin data; dimensions ntax=3 nchar=4; matrix\n" ROWS "d ACGG;end;", "3|4 rows", 0},
    {79, "taxa block disagrees", 'R', 0,
     "#NEXUS begin taxa; dimensions ntax=4; taxlabels a b c d; end; begin characters; dimensions "
     "nchar=4; matrix\n" ROWS ";end;",
     "NTAX is 4|3 rows", 0},
    {80, "DATA and CHARACTERS", 'R', 0,
     MATRIX "begin characters; dimensions nchar=4; matrix " ROWS ";end;",
     ":11:7: error|second|line 2", 0},
    {80, "two matrices", 'R', 0,
     "#NEXUS begin data; dimensions nchar=4;\nmatrix\n" ROWS ";\nmatrix d ACGG;end;",
     ":7:1: error|second|matrix", 0},
    {81, "MATRIX in a TAXA block", 'R', 0,
     "#NEXUS begin taxa; dimensions nchar=4;\nmatrix\n" ROWS ";end;", ":2:1: error|'matrix'|TAXA",
     0},
    {81, "no data block", 'R', WHOLE_FILE, "#NEXUS begin taxa; taxlabels a b c; end;",
     "no DATA or CHARACTERS", 0},
    {82, "DATATYPE standard", 'R', 0, BLOCK("datatype=standard", ROWS), ":4:17: error|'standard'",
     0},
    {82, "DATATYPE continuous", 'R', 0, BLOCK("datatype = Continuous", ROWS),
     "'Continuous'|nucleotides", 0},
    {82, "DATATYPE mixed", 'R', 0,
     BLOCK("datatype=mixed(standard:1-2, dna:3-4)", "a 01GT\nb 01GA\nc 10GC\n"),
     ":4:17: error|block 'data' has DATATYPE 'mixed(standard:1-2, dna:3-4)'|'0' at site 1 of "
     "sequence 'a' (line 6, column 3)|a file of their own",
     0},
    {82, "DATATYPE mixed, not closed", 'R', 0, BLOCK("datatype=mixed(standard:1-2", ROWS),
     "')' after the types", 0},
    {82, "DATATYPE protein", 'R', 0,
     BLOCK("datatype=protein interleave", "a AC\nb AC\nc AC\n\na GL\nb GL\nc GL\n"),
     "'protein'|protein sequences|'L' at site 4 of sequence 'a' (line 10, column 4)|the DNA of", 0},
    {82, "DATATYPE unknown", 'R', 0, BLOCK("datatype=microsat", ROWS), "'microsat'|not known", 0},
    {82, "no DATATYPE, digits", 'R', 0, BLOCK("symbols=\"01\"", "a 0101\nb 01{01}0\nc 0011\n"),
     ":6:3: error|block 'data' (no DATATYPE, which means STANDARD)|'0' at site 1", 0},
    {83, "custom GAP and MISSING", 'A', 0,
     BLOCK("datatype=dna gap=_ missing=#", "a AC_T\nb A#GA\nc ACGC\n"), "", 0},
    {83, "GAP is a base", 'R', 0, BLOCK("gap=A", ROWS), ":4:12: error|'A'", 0},
    {84, "MATCHCHAR", 'A', 0, BLOCK("matchchar=.", "a ACGT\nb ...A\nc ..GC\n"), "", 0},
    {84, "match character in the first row", 'R', 0,
     BLOCK("matchchar=.", "a ACG.\nb ...A\nc ..GC\n"), ":6:6: error|'.'|first sequence", 0},
    {85, "SYMBOLS with spaces", 'A', 0, BLOCK("symbols=\"A C G T\" datatype=dna", ROWS), "", 0},
    {83, "GAP is the end of a command", 'R', 0, BLOCK("gap=';'", ROWS), ":4:12: error|';'", 0},
    {83, "GAP and MISSING in both cases", 'A', 0, BLOCK("missing=z", "a ACzT\nb ACZA\nc ACGC\n"),
     "", 0},
    {86, "interleaved, declared", 'A', 0,
     BLOCK("interleave=yes", "a AC\nb AC\nc AC\n\na GT\nb GA\nc GC\n"), "", 0},
    {86, "wrapped, by count", 'A', 0, BLOCK("datatype=dna", "a AC\nGT\nb AC\nGA\nc A\nCGC\n"), "",
     0},
    {86, "interleaved, not declared", 'R', 0,
     BLOCK("datatype=dna", "taxon1 AC\ntaxon2 AC\ntaxon3 AC\n\ntaxon1 GT\ntaxon2 GA\ntaxon3 GC\n"),
     ":7:3: error|INTERLEAVE", 0},
    {87, "comments in the matrix", 'A', 0,
     BLOCK("datatype=dna", "[1] a A[2]CGT\nb ACG[;]A\nc ACGC[x]\n"), "", 0},
    {87, "nested comments", 'A', 0, BLOCK("datatype=dna", "a A[b [c] d]CGT\nb ACGA\nc ACGC\n"), "",
     0},
    {87, "unclosed comment", 'R', 0, BLOCK("datatype=dna", "a A[b [c] CGT\nb ACGA\nc ACGC\n"),
     ":6:4: error|never closed", 0},
    {88, "quoted taxon with ''", 'A', 0, BLOCK("datatype=dna", "'a''s' ACGT\n'b c' ACGA\nc ACGC\n"),
     "", 0},
    {89, "'-' in TAXLABELS", 'A', 0,
     "#NEXUS begin taxa; dimensions ntax=3; taxlabels a-1 b-2 c-3; end; begin characters; "
     "dimensions nchar=4; matrix a-1 ACGT b-2 ACGA c-3 ACGC; end;",
     "", 0},
    {90, "EQUATE", 'A', 0,
     BLOCK("equate=\"z=A 5={CG},q=- a=A\" datatype=dna", "a zCGT\nb AC5A\nc ACqC\n"), "", 0},
    {90, "EQUATE of a base", 'R', 0, BLOCK("equate=\"z=A A=C\" datatype=dna", ROWS),
     ":4:20: error|'A=C'|must not be a base", 0},
    {90, "EQUATE without a value", 'R', 0, BLOCK("equate=\"z=A y=\" datatype=dna", ROWS),
     ":4:20: error|'y='|symbol=base", 0},
    {90, "EQUATE with an open set", 'R', 0, BLOCK("equate=\"y={AC\" datatype=dna", ROWS),
     ":4:16: error|'y={AC'", 0},
    {0, "LABELS=LEFT TRANSPOSE=NO TOKENS=NO", 'A', 0,
     BLOCK("datatype=dna labels=left transpose=no tokens=no items=states", ROWS), "", 0},
    {0, "LABELS=RIGHT", 'R', 0, BLOCK("datatype=dna labels=right", ROWS), ":4:21: error|before", 0},
    {0, "TRANSPOSE", 'R', 0, BLOCK("datatype=dna transpose", ROWS),
     ":4:21: error|'transpose'|row for each taxon", 0},
    {0, "TOKENS=YES", 'R', 0, BLOCK("datatype=dna tokens=yes", ROWS), "'tokens=yes'|character", 0},
    {0, "NOLABELS without TAXLABELS", 'R', 0, BLOCK("datatype=dna nolabels", "ACGT\nACGA\nACGC\n"),
     ":5:7: error|TAXLABELS", 0},
    {0, "NOLABELS with too many rows", 'R', 0,
     "#NEXUS begin taxa; taxlabels a b c; end; begin characters; dimensions nchar=4; format "
     "nolabels; matrix ACGT ACGA ACGC\nACGG; end;",
     ":2:1: error|last of 3 TAXLABELS", 0},
    {0, "a second list of the same taxa", 'A', 0,
     "#NEXUS begin taxa; dimensions ntax=2; taxlabels x y; end; begin taxa; dimensions ntax=3; "
     "taxlabels a b c; end; begin characters; dimensions nchar=4; matrix " ROWS "; end;",
     "", 0},
    {0, "LINK to one of two TAXA blocks", 'A', 0,
     LINKED("title x; LINK  TAXA = 'the BEASTS';", "", ROWS), "", 0},
    {0, "LINK gives the names of NOLABELS", 'A', 0,
     LINKED("link characters=x taxa=the_beasts;", "format nolabels;", "ACGT ACGA ACGC"), "", 0},
    {0, "NOLABELS without LINK", 'R', 0, LINKED("", "format nolabels;", "ACGT ACGA ACGC"),
     ":3:63: error|none is linked|LINK TAXA", 0},
    {0, "LINK to a title that is not there", 'R', 0, LINKED("link taxa = fungi;", "", ROWS),
     ":3:31: error|no TAXA block|'fungi'|'Plants', 'the_beasts'|correct LINK", 0},
    {0, "LINK to other taxa", 'R', 0, LINKED("link taxa = plants;", "", ROWS),
     ":4:1: error|'a' is not among|linked TAXA block 'plants'", 0},
    {0, "LINK to fewer taxa", 'R', 0,
     LINKED("link taxa = plants;", "", "x ACGT\ny ACGA\nz ACGC\na ACGG\n"),
     ":3:31: error|3 TAXLABELS|4 rows", 0},
    {0, "LINK without '='", 'R', 0, LINKED("link taxa plants;", "", ROWS), "'='|LINK TAXA =", 0},
    {0, "LINK where there is one TAXA block", 'N', 0,
     "#NEXUS begin taxa; taxlabels a b c; end; begin characters; link taxa=x; dimensions nchar=4; "
     "matrix " ROWS "; end;",
     "'x'|only one", 0},
    {0, "TAXLABELS of NEWTAXA", 'A', 0,
     "#NEXUS begin characters; dimensions newtaxa ntax=3 nchar=4; format nolabels; taxlabels a b "
     "c; matrix ACGT ACGA ACGC; end;",
     "", 0},
    {0, "a taxon listed twice", 'R', 0,
     "#NEXUS begin taxa; dimensions ntax=3;\ntaxlabels a b a; end; begin characters; dimensions "
     "nchar=4; matrix " ROWS "; end;",
     ":2:15: error|'a' was used already", 0},
    {0, "a spelling with underscore and one with blank", 'R', 0,
     BLOCK("datatype=dna", "'a b' ACGT\na_b ACGA\nc ACGC\n"), ":7:1: error|'a b' and 'a_b'", 0},
    {0, "lines that begin with #", 'A', 0,
     "#NEXUS\n# it's a comment; begin\nbegin data;\n # another\ndimensions ntax=3 nchar=4;\n"
     "matrix\n" ROWS ";\nend;\n# the end",
     "", 0},
    {0, "a block of another program with a quote in a word", 'N', 0, MATRIX "begin x; don't; end;",
     "'x'", 0},
    {0, "an open block behind the matrix", 'N', 0, MATRIX "begin mrbayes; set x=1",
     "'mrbayes'|not closed", 0},
    {90, "CHARSET a-b/3", 'N', 0, MATRIX "begin sets; charset p = 1-4/3; charset q = 1-4\\3; end;",
     "'sets'|ignored", 0},
    {91, "mrbayes block", 'N', 0, MATRIX "begin mrbayes; set autoclose=yes; execute x.nex; end;",
     "'mrbayes'|not executed", 0},
    {91, "paup block", 'N', 0, MATRIX "begin paup; quit; end;", "'paup'|not executed", 0},
    {91, "execute", 'N', 0, MATRIX "execute other.nex;", "'execute'|not executed", 0},

    {0, "Clustal, names not in order", 'R', 0, "CLUSTAL\n\na AC\nb AC\nc AC\n\na GT\nc GA\nb GC\n",
     ":8:1: error|expected the name 'b'|found 'c'", 0},
    {0, "Clustal, name used twice", 'R', 0, "CLUSTAL\n\na AC\nb AC\nb AC\n",
     ":5:1: error|'b' was used already", 0},
    {0, "Clustal, blank in a name", 'R', 0, "CLUSTAL\n\na AC\nb x AC\nc AC\n",
     ":4:5: error|'AC'|names have no blanks", 0},
    {0, "Clustal, a line is missing", 'R', 0, "CLUSTAL\n\na AC\nb AC\nc AC\n\na GT\nb GA\n",
     ":5:1: error|'c' has 2", 0},
    {0, "MSF without //", 'R', WHOLE_FILE, "x\n MSF: 4 Type: N Check: 0 ..\n Name: a Len: 4\n",
     "no line //", 0},
    {0, "MSF, unknown name", 'R', 0,
     "x\n MSF: 4 Type: N Check: 0 ..\n Name: a\n Name: b\n Name: c\n//\na ACGT\nd ACGA\n",
     ":8:1: error|'d'|Name:", 0},
    {0, "MSF, wrong length", 'R', 0,
     "x\n MSF: 5 Type: N Check: 0 ..\n Name: a\n Name: b\n Name: c\n//\na ACGT\nb ACGA\nc ACGC\n",
     ":3:8: error|all 3 sequences have 4 characters where the header says 5", 0},
    {0, "Stockholm without //", 'N', 0, "# STOCKHOLM 1.0\n" ROWS, "//|incomplete", 0},
    {0, "Stockholm, two alignments", 'R', 0, "# STOCKHOLM 1.0\n" ROWS "//\n# STOCKHOLM 1.0\n",
     ":6:1: error|second alignment", 0},
    {0, "Stockholm, protein", 'R', 0, "# STOCKHOLM 1.0\na MKLE\nb MKLE\nc MKIE\n//\n",
     ":2:5: error|looks like protein", 0},
    {0, "partitions", 'R', 0, "GTR+G, gene1 = 1-500\nHKY, gene2 = 501-900\n",
     ":1:1: error|file of partitions|one model", 0},
    {0, "XML", 'R', 0, "<?xml version=\"1.0\"?>\n<beast>", "XML|export", 0},
    {0, "a tree", 'R', 0, "(a,b,(c,d));\n", "a tree|alignment", 0},
};

/* The text must have all of the words. */
static void check_words(const char *text, const char *words)
{
    char list[512];
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok(list, "|"); word; word = strtok(NULL, "|"))
        if (!strstr(text, word))
            fail_msg("\"%s\" is not in: %s", word, text);
}

/* `name:line:column: error: what -- how to fix it`, or without a place. */
static void check_form(const char *text, const char *name, bool whole_file)
{
    size_t n = strlen(name), line, column;
    int used = 0;
    if (strncmp(text, name, n) != 0)
        fail_msg("does not begin with %s: %s", name, text);
    if (!whole_file &&
        (sscanf(text + n, ":%zu:%zu%n", &line, &column, &used) != 2 || line == 0 || column == 0))
        fail_msg("no line and column: %s", text);
    if (strncmp(text + n + used, ": error: ", 9) != 0)
        fail_msg("no error: %s", text);
    if (!strstr(text, " -- "))
        fail_msg("no way to fix it: %s", text);
}

static void check_verdict(char verdict, int status, const diag *d, const char *words,
                          bool whole_file)
{
    for (size_t i = 0; i < d->count; i++)
        if (verdict == 'A' || (verdict == 'N' && d->message[i].level == DIAG_ERROR))
            fail_msg("verdict %c, but: %s", verdict, d->message[i].text);
    if (verdict == 'R') {
        assert_int_not_equal(status, ART_OK);
        assert_true(d->errors > 0 && d->errors == d->count);
        for (size_t i = 0; i < d->count; i++)
            check_form(d->message[i].text, "file", whole_file);
    } else {
        check_status(status);
        assert_int_equal(d->count, verdict == 'N');
    }
    if (d->count)
        check_words(d->message[0].text, words);
}

/* What `check` makes of a file in the scratch folder. Under sanitizers the program takes too long
 * to start for so many of them; the reader itself has been looked at by then. */
static void check_program(char verdict, const char *path, int flags, const char *words,
                          diag_advice advice)
{
#ifdef ART_SANITIZED
    return;
#endif
    const char *line[8] = {"check", "-s", path};
    int n = 3;
    if (flags & STRICT)
        line[n++] = "--phylip-strict";
    if (flags & FULL)
        line[n++] = "--full-names";
    run_result r = run_arguments(NULL, line);
    check_run(&r, path, verdict == 'R' ? 2 : 0, NULL, verdict == 'A' ? NULL : words);
    if (verdict != 'R' && strstr(r.err, "error"))
        fail_msg("verdict %c, but: %s", verdict, r.err);
    if (advice != ADVICE_NONE) /* the program says by which option */
        assert_non_null(strstr(r.err, "read full names (--full-names)"));
    run_free(&r);
}

static void run_case(void **state)
{
    const bad_case *c = *state;
    alignment_options options = {.phylip_strict = c->flags & STRICT, .full_names = c->flags & FULL};
    diag d;
    diag_init(&d);
    input in;
    alignment a = {0};
    size_t size = c->size ? c->size : strlen(c->text);
    int status = input_from_memory(&in, "file", c->text, size, NULL, &d);
    if (status == ART_OK)
        status = alignment_parse(&a, &in, &options, &d);
    check_verdict(c->verdict, status, &d, c->words, c->flags & WHOLE_FILE);
    assert_true(status == ART_OK ? a.n_taxa >= 3 && a.n_sites >= 1 : a.n_taxa == 0);
    alignment_free(&a);
    input_free(&in);
    const diag_advice advice = d.count ? d.message[0].advice : ADVICE_NONE;
    diag_free(&d);
    check_program(c->verdict, scratch_write_bytes("file", c->text, size), c->flags, c->words,
                  advice);
}

/* Cases that a text in a table cannot show. */

/* Reads a text, checks the verdict and, where it is not R, hands the alignment over. */
static void read_memory(char verdict, const void *data, size_t size,
                        const alignment_options *options, const char *words, alignment *a)
{
    diag d;
    diag_init(&d);
    input in;
    alignment mine = {0};
    int status = input_from_memory(&in, "file", data, size, options ? &options->limits : NULL, &d);
    if (status == ART_OK)
        status = alignment_parse(&mine, &in, options, &d);
    check_verdict(verdict, status, &d, words, true);
    input_free(&in);
    diag_free(&d);
    if (a)
        *a = mine;
    else
        alignment_free(&mine);
    if (!options)
        check_program(verdict, scratch_write_bytes("file", data, size), 0, words, ADVICE_NONE);
}

static void case_1_2_missing_directory(void **state)
{
    (void)state;
    alignment a;
    diag d;
    diag_init(&d);
    assert_int_equal(alignment_read(&a, "/nonexistent/a.fasta", NULL, &d), ART_ERR_INPUT);
    check_form(d.message[0].text, "/nonexistent/a.fasta", true);
    check_words(d.message[0].text, strerror(ENOENT));
    assert_int_equal(alignment_read(&a, "/tmp", NULL, &d), ART_ERR_INPUT);
    check_words(d.message[1].text, strerror(EISDIR));
    check_program('R', "/nonexistent/a.fasta", 0, strerror(ENOENT), ADVICE_NONE);
    check_program('R', "/tmp", 0, strerror(EISDIR), ADVICE_NONE);
    diag_free(&d);
}

static void case_15_to_20_gzip(void **state)
{
    (void)state;
    unsigned char packed[1024];
    size_t first = gzip_pack(packed, sizeof packed, ">a\nACGT\n>b\nACGA\n", 16);
    size_t all = first + gzip_pack(packed + first, sizeof packed - first, ">c\nACGC\n", 8);
    read_memory('R', packed, first - 1, NULL, "compressed data ends early", NULL);
    read_memory('A', packed, all, NULL, "", NULL);
    unsigned char damaged[1024];
    memcpy(damaged, packed, all);
    damaged[all - 6] ^= 1;
    read_memory('R', damaged, all, NULL, "CRC", NULL);
    memcpy(damaged, packed, all);
    memcpy(damaged + all, "x\n", 2);
    read_memory('R', damaged, all + 2, NULL, "not gzip", NULL);
    alignment_options small = {.limits.bytes = 10};
    read_memory('R', packed, all, &small, "more than 10 bytes", NULL);
}

static void case_34_long_names(void **state)
{
    (void)state;
    char *text = malloc(1 << 18);
    for (int extra = 0; extra <= 1; extra++) {
        int n = (1 << 16) + extra;
        int used = sprintf(text, ">%0*d\nACGT\n>b\nACGA\n>c\nACGC\n", n, 1);
        alignment a;
        diag d;
        diag_init(&d);
        input in;
        check_status(input_from_memory(&in, "file", text, (size_t)used, NULL, &d));
        int status = alignment_parse(&a, &in, NULL, &d);
        check_verdict(extra ? 'R' : 'A', status, &d, "65537 bytes|shorten", false);
        alignment_free(&a);
        input_free(&in);
        diag_free(&d);
    }
    free(text);
}

/* Sixteen taxa, a million sites in one line, of every format. */
static void case_60_long_lines(void **state)
{
    (void)state;
    size_t sites = 1000000, room = 16 * (sites + 8) + 256;
    char *text = malloc(room);
    static const char *const head[] = {
        "", "16 1000000\n", "#NEXUS begin data; dimensions ntax=16 nchar=1000000; matrix\n"};
    static const char *const tail[] = {"", "", "; end;"};
    for (int format = 0; format < 3; format++) {
        size_t used = (size_t)sprintf(text, "%s", head[format]);
        for (int i = 0; i < 16; i++) {
            used += (size_t)sprintf(text + used, format ? "t%d " : ">t%d\n", i);
            for (size_t j = 0; j < sites; j++)
                text[used++] = "ACGT"[(j >> 2 * (i % 8) ^ (size_t)(i / 8)) & 3];
            text[used++] = '\n';
        }
        used += (size_t)sprintf(text + used, "%s", tail[format]);
        alignment a;
        read_memory('A', text, used, NULL, "", &a);
        assert_int_equal(a.n_sites, sites);
        assert_int_equal(a.n_patterns, 65536);
        alignment_free(&a);
    }
    free(text);
}

/* n taxa that all differ, of 10 sites. */
static char *many_taxa(size_t n, size_t *used)
{
    char *text = malloc(n * 32);
    *used = 0;
    for (size_t i = 0; i < n; i++) {
        *used += (size_t)sprintf(text + *used, ">t%zu\n", i);
        for (int j = 0; j < 10; j++)
            text[(*used)++] = "ACGT"[i >> 2 * j & 3];
        text[(*used)++] = '\n';
    }
    return text;
}

static void case_61_62_63_sizes(void **state)
{
    (void)state;
    size_t used;
    char *text = many_taxa(100000, &used);
    alignment a;
    read_memory('A', text, used, NULL, "", &a);
    assert_int_equal(a.n_taxa, 100000);
    alignment_free(&a);
    alignment_options small = {.memory = 1000000};
    read_memory('R', text, used, &small, "100000 sequences of 10 sites|need about 2.0 MB", NULL);
    alignment_options short_file = {.limits.bytes = 1000000};
    read_memory('R', text, used, &short_file, "more than 1000000 bytes", NULL);
    free(text);
}

int main(void)
{
    enum { TABLE = sizeof CASES / sizeof *CASES };
    const struct CMUnitTest special[] = {
        cmocka_unit_test(case_1_2_missing_directory), cmocka_unit_test(case_15_to_20_gzip),
        cmocka_unit_test(case_34_long_names),         cmocka_unit_test(case_60_long_lines),
        cmocka_unit_test(case_61_62_63_sizes),
    };
    enum { SPECIAL = sizeof special / sizeof *special };
    static struct CMUnitTest tests[TABLE + SPECIAL];
    static char name[TABLE][80];
    for (size_t i = 0; i < TABLE; i++) {
        snprintf(name[i], sizeof name[i], "case %d: %s", CASES[i].number, CASES[i].label);
        tests[i] = (struct CMUnitTest){
            .name = name[i], .test_func = run_case, .initial_state = (void *)(uintptr_t)&CASES[i]};
    }
    memcpy(tests + TABLE, special, sizeof special);
    return cmocka_run_group_tests_name("alignment_bad", tests, scratch_setup, scratch_teardown);
}
