// SPDX-License-Identifier: MIT
// fit_plot.c: `--plot loss.png`: the losses by step, as a picture.
//
// The vertical axis is logarithmic where all losses are above zero.  Each column of pixels shows
// the least and the greatest loss of its steps, so that nothing of a long training is left out.
#include "tools/verbs/fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 640, HEIGHT = 400, LEFT = 84, RIGHT = 12, TOP = 12, BOTTOM = 24 };

typedef struct plot {
    unsigned char *pixels; // RGB, row by row
    const double *losses;
    uint64_t count, first;
    bool logarithmic;
    double low, high; // of the vertical axis, as scale gives them
} plot;

bool fit_plot_check(const char *path, vy_diag *d)
{
    return png_available("--plot", path, d) &&
           (ends_in(path, ".png") ||
            fail(d, TOOL_FORM, "end PATH in .png", "--plot %.200s: a .png is written", path));
}

// ---------------------------------------------------------------------------------------- drawing
static void dot(plot *p, int x, int y, unsigned color)
{
    if (x < 0 || y < 0 || x >= WIDTH || y >= HEIGHT) return;
    unsigned char *at = p->pixels + 3 * (y * WIDTH + x);
    at[0] = (unsigned char)(color >> 16), at[1] = (unsigned char)(color >> 8);
    at[2] = (unsigned char)color;
}

static void vertical(plot *p, int x, int from, int to, unsigned color)
{
    for (int y = from < to ? from : to; y <= (from < to ? to : from); y++) dot(p, x, y, color);
}

static void horizontal(plot *p, int from, int to, int y, unsigned color)
{
    for (int x = from; x <= to; x++) dot(p, x, y, color);
}

// Five rows of three dots, from the top, for what numbers consist of.
static const struct glyph {
    char character;
    unsigned short rows; // 15 bits, the first is the top left
} glyphs[] = {{'0', 075557}, {'1', 026227}, {'2', 071747}, {'3', 071717}, {'4', 055711},
              {'5', 074717}, {'6', 074757}, {'7', 071222}, {'8', 075757}, {'9', 075717},
              {'-', 000700}, {'+', 002720}, {'.', 000002}, {'e', 003743}};

static void character(plot *p, int x, int y, char c)
{
    for (size_t i = 0; i < COUNT_OF(glyphs); i++)
        for (int k = 0; glyphs[i].character == c && k < 15; k++)
            for (int q = 0; q < 4; q++) // twice as large
                if (glyphs[i].rows >> (14 - k) & 1)
                    dot(p, x + 2 * (k % 3) + q % 2, y + 2 * (k / 3) + q / 2, 0x303030);
}

// Ends at x, or begins there.
static void draw_number(plot *p, int x, int y, double value, bool ends)
{
    char text[32];
    const int n = snprintf(text, sizeof text, "%.3g", value);
    for (int i = 0; i < n; i++) character(p, x + 8 * (ends ? i - n : i), y, text[i]);
}

// ------------------------------------------------------------------------------------------- curve
static double scale(const plot *p, double loss) { return p->logarithmic ? log10(loss) : loss; }

static int row_of(const plot *p, double loss)
{
    const double at = (scale(p, loss) - p->low) / (p->high - p->low);
    return HEIGHT - BOTTOM - (int)lround(at * (HEIGHT - TOP - BOTTOM));
}

static void find_range(plot *p)
{
    double low = INFINITY, high = -INFINITY;
    for (uint64_t i = 0; i < p->count; i++) {
        const double v = p->losses[i];
        if (!isfinite(v)) continue;
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    p->logarithmic = low > 0 && isfinite(low);
    p->low = isfinite(low) ? scale(p, low) : 0;
    p->high = isfinite(high) ? scale(p, high) : 1;
    if (p->high - p->low > 1e-12) return;
    p->low -= 0.5;
    p->high += 0.5;
}

static void draw_axes(plot *p)
{
    const int right = WIDTH - RIGHT, bottom = HEIGHT - BOTTOM;
    for (int k = 0; k <= 4; k++) {
        const double at = p->low + (p->high - p->low) * k / 4;
        const int y = bottom - (bottom - TOP) * k / 4;
        horizontal(p, LEFT, right, y, k ? 0xdddddd : 0x303030);
        draw_number(p, LEFT - 6, y - 5, p->logarithmic ? pow(10, at) : at, true);
    }
    vertical(p, LEFT, TOP, bottom, 0x303030);
    draw_number(p, LEFT, bottom + 8, (double)p->first, false);
    draw_number(p, right, bottom + 8, (double)(p->first + p->count), true);
}

static void draw_curve(plot *p)
{
    const uint64_t columns = WIDTH - LEFT - RIGHT;
    int before = -1;
    for (uint64_t x = 0; x < columns && p->count; x++) {
        const uint64_t from = x * p->count / columns, next = (x + 1) * p->count / columns;
        int least = HEIGHT, greatest = -1, last = before;
        for (uint64_t i = from; i < (next > from ? next : from + 1); i++) {
            if (!isfinite(p->losses[i])) continue;
            last = row_of(p, p->losses[i]);
            least = last < least ? last : least;
            greatest = last > greatest ? last : greatest;
        }
        if (greatest < 0) continue;
        if (before >= 0 && before < least) least = before;
        if (before > greatest) greatest = before;
        vertical(p, LEFT + (int)x, least, greatest, 0x1f5fbf);
        before = last;
    }
}

// ------------------------------------------------------------------------------------------- file
static bool write(const plot *p, command *c, vy_diag *d)
{
    text file = {0};
    const bool ok = png_encode(p->pixels, WIDTH, HEIGHT, true, &file, d) &&
                    output_add(&c->files, c->o.plot, file.data, file.size, d);
    text_free(&file);
    return ok;
}

bool fit_plot(const fit *f, command *c, vy_diag *d)
{
    plot p = {.pixels = malloc(3 * WIDTH * HEIGHT),
              .losses = f->losses,
              .count = f->done - f->first,
              .first = f->first};
    if (!p.pixels) return fail_memory(d);
    memset(p.pixels, 255, 3 * WIDTH * HEIGHT);
    find_range(&p);
    draw_axes(&p);
    draw_curve(&p);
    const bool ok = write(&p, c, d);
    free(p.pixels);
    return ok;
}
