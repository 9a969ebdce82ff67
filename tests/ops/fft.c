/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/fft.c - Fourier transforms, short-time ones, magnitudes, and the losses made of them. */
#include "tests/support/op_check.h"

#include <math.h>
#include <string.h>

#include "kernels/ops/ops.h"

enum { K_FFT, K_IFFT, K_RFFT, K_IRFFT };
enum { MOST = 1024 }; /* values of a case */

typedef struct Transform {
    const char *what;
    int kind;
    TtShape shape;
    int64_t n;
    int axis;
    TtFftNorm norm;
    const double *y;
    int ny;
    const double *dx;
    int ndx;
} Transform;

typedef struct Frames {
    TtShape shape;
    TtStft options;
    bool ones; /* no window */
    int64_t length;
    const double *y;
    int ny;
    const double *dx;
    int ndx;
} Frames;

typedef struct Magnitude {
    double power;
    const double *y, *dx;
} Magnitude;

#include "tests/ops/fft_torch.inc"

/* ---- fft, ifft, rfft, irfft */

static TtVal build_transform(TtGraph *g, const TtVal *in, const void *user)
{
    const Transform *t = user;
    switch (t->kind) {
    case K_FFT: return tt_fft(g, in[0], t->n, t->axis, t->norm);
    case K_IFFT: return tt_ifft(g, in[0], t->n, t->axis, t->norm);
    case K_RFFT: return tt_rfft(g, in[0], t->n, t->axis, t->norm);
    default: return tt_irfft(g, in[0], t->n, t->axis, t->norm);
    }
}

/* PyTorch's cases of one kind or two. */
static void expect_transforms(int first, int last)
{
    static double x[MOST], dy[MOST];
    for (int i = 0; i < TT_COUNT(transforms); i++) {
        const Transform *t = &transforms[i];
        if (t->kind < first || t->kind > last) continue;
        tt_op_pattern(x, tt_shape_count(&t->shape), 5);
        tt_op_pattern(dy, t->ny, 7);
        TtOpCheck c = {t->what, build_transform, t, 1, {{t->shape, .values = x}}};
        tt_op_expect(&c, t->y, t->ny, 2e-6);
        tt_op_expect_grad(&c, 0, dy, t->dx, t->ndx, 2e-6);
    }
}

/* Every way a length is factored, more rows than a group and than a task, any axis; nothing at all. */
static void check_transforms(int kind)
{
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 8, 9, 14, 17, 22, 26, 34, 48};
    const bool pairs = kind != K_RFFT;
    for (int i = 0; i < TT_COUNT(lengths); i++) {
        const int64_t n = lengths[i], along = kind == K_IRFFT ? n / 2 + 1 : n;
        Transform t = {.kind = kind, .n = n, .axis = -1, .norm = TT_FFT_ORTHO};
        TtOpCheck c = {"transform", build_transform, &t, 1, {{pairs ? TT_SHAPE(3, along, 2) : TT_SHAPE(3, along)}}};
        tt_op_check(&c);
        t.axis = 1, t.norm = TT_FFT_BACKWARD;
        c.what = "transform along the time axis";
        c.in[0].shape = pairs ? TT_SHAPE(2, along, 3, 2) : TT_SHAPE(2, along, 3);
        tt_op_check(&c);
    }
    Transform t = {.kind = kind, .axis = -1, .n = 30};
    TtOpCheck c = {"many transforms", build_transform, &t, 1, {{TT_SHAPE(9, 111, 30)}}, .numeric = -1};
    if (pairs) c.in[0].shape = TT_SHAPE(9, 111, kind == K_IRFFT ? 16 : 30, 2);
    tt_op_check(&c);
    c.what = "no transform", c.in[0].shape.dims[0] = 0, c.numeric = 0;
    tt_op_check(&c);
    c.what = "cut and filled up";
    t.n = 7;
    c.in[0].shape = pairs ? TT_SHAPE(4, 9, 2) : TT_SHAPE(4, 9);
    tt_op_check(&c);
    t.n = 20;
    tt_op_check(&c);
    c.in[0].dtype = TT_BF16, c.what = "bfloat16", c.numeric = -1, c.grad_tolerance = 1e-2;
    tt_op_check(&c);
}

void tt_test_op_fft(void **state)
{
    expect_transforms(K_FFT, K_IFFT);
    check_transforms(K_FFT);
    check_transforms(K_IFFT);
}

void tt_test_op_rfft(void **state)
{
    expect_transforms(K_RFFT, K_RFFT);
    check_transforms(K_RFFT);
}

void tt_test_op_irfft(void **state)
{
    expect_transforms(K_IRFFT, K_IRFFT);
    check_transforms(K_IRFFT);
}

/* ---- stft, istft */

static double window[4096];

static const TtStft *windowed(const Frames *f, TtStft *o)
{
    *o = f->options;
    if (f->ones) return o;
    for (int i = 0; i < TT_COUNT(window); i++) window[i] = 0.3 + i * 7 % 11 / 10.0;
    o->window = window;
    return o;
}

static TtVal build_stft(TtGraph *g, const TtVal *in, const void *user)
{
    TtStft o;
    return tt_stft(g, in[0], windowed(user, &o));
}

static TtVal build_istft(TtGraph *g, const TtVal *in, const void *user)
{
    const Frames *f = user;
    TtStft o;
    return tt_istft(g, in[0], windowed(f, &o), f->length);
}

typedef TtVal (*Build)(TtGraph *g, const TtVal *in, const void *user);

static void expect_frames(Build build, const Frames *cases, int n)
{
    static double x[MOST], dy[MOST];
    for (int i = 0; i < n; i++) {
        const Frames *f = &cases[i];
        tt_op_pattern(x, tt_shape_count(&f->shape), 5);
        tt_op_pattern(dy, f->ny, 7);
        TtOpCheck c = {"short-time transform", build, f, 1, {{f->shape, .values = x}}};
        tt_op_expect(&c, f->y, f->ny, 3e-6);
        tt_op_expect_grad(&c, 0, dy, f->dx, f->ndx, 3e-6);
        c.in[0].values = NULL;
        tt_op_check(&c);
        c.in[0].shape.dims[0] = 0;
        tt_op_check(&c);
    }
}

void tt_test_op_stft(void **state)
{
    expect_frames(build_stft, stfts, TT_COUNT(stfts));
    Frames f = {.options = {.n_fft = 40, .hop_length = 10, .win_length = 30}};
    TtOpCheck c = {"a long signal", build_stft, &f, 1, {{TT_SHAPE(3, 2345)}}, .numeric = -1};
    tt_op_check(&c);
    f.options.two_sided = true;
    tt_op_check(&c);
    c.in[0].dtype = TT_BF16, c.what = "bfloat16", c.grad_tolerance = 1e-2;
    tt_op_check(&c);
}

/* What the frames say comes back: istft undoes stft. */
static TtVal build_there_and_back(TtGraph *g, const TtVal *in, const void *user)
{
    TtStft o;
    windowed(user, &o);
    return tt_istft(g, tt_stft(g, in[0], &o), &o, tt_dim(g, in[0], 1));
}

static void expect_identity(void)
{
    enum { N = 2, T = 1500 };
    static double x[N * T];
    tt_op_pattern(x, N * T, 5);
    static const TtStft options[] = {{.n_fft = 400, .hop_length = 160},
                                     {.n_fft = 512, .hop_length = 128, .win_length = 300, .normalized = true},
                                     {.n_fft = 101, .two_sided = true, .pad = TT_STFT_CONSTANT},
                                     {.n_fft = 75, .hop_length = 15, .pad = TT_STFT_NONE}};
    for (int i = 0; i < TT_COUNT(options); i++) {
        Frames f = {.options = options[i], .ones = options[i].n_fft == 75};
        TtOpCheck c = {"there and back", build_there_and_back, &f, 1, {{TT_SHAPE(N, T), .values = x}}};
        tt_op_expect(&c, x, N * T, 3e-6);
    }
}

/* ---- complex_abs */

static TtVal build_abs(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_complex_abs(g, in[0], *(const double *)user);
}

static const double points[12] = {3, 4, 0, 0, -1, 0, 0, -2, 1e-3, 2e-3, 5, -12};

void tt_test_op_complex_abs(void **state)
{
    for (int i = 0; i < TT_COUNT(magnitudes); i++) {
        TtOpCheck c = {"complex_abs", build_abs, &magnitudes[i].power, 1, {{TT_SHAPE(6, 2), .values = points}}};
        tt_op_expect(&c, magnitudes[i].y, 6, 1e-6);
    }
}

void tt_test_op_complex_abs_bwd(void **state)
{
    for (int i = 0; i < TT_COUNT(magnitudes); i++) {
        TtOpCheck c = {"complex_abs", build_abs, &magnitudes[i].power, 1, {{TT_SHAPE(6, 2), .values = points}}};
        tt_op_expect_grad(&c, 0, NULL, magnitudes[i].dx, 12, 1e-6);
        c.in[0] = (TtCheckInput){TT_SHAPE(5, 7, 2), .lo = 0.1, .hi = 2};
        tt_op_check(&c);
        c.in[0].shape = TT_SHAPE(3, 7001, 2), c.numeric = -1;
        tt_op_check(&c);
        c.in[0].shape = TT_SHAPE(0, 2);
        tt_op_check(&c);
    }
}

/* ---- losses */

static void noise(double *out, int64_t n, int64_t step)
{
    for (int64_t i = 0; i < n; i++) out[i] = (double)(i * i * step % 1009) / 504.5 - 1;
}

enum { PAPER = 1200, SPARSE = 31 };

typedef struct Loss {
    const TtStftResolution *resolutions;
    int count, part;
} Loss;

static TtVal build_loss(TtGraph *g, const TtVal *in, const void *user)
{
    const Loss *l = user;
    TtVal out[2];
    tt_multi_resolution_stft_loss(g, in[0], in[1], l->resolutions, l->count, out);
    return out[l->part];
}

/* Every 31st of the gradients. */
static TtVal build_sparse_grad(TtGraph *g, const TtVal *in, const void *user)
{
    TtVal loss = build_loss(g, in, user), dx;
    tt_grad(g, loss, TT_NONE, in, 1, &dx);
    TtVal flat = tt_reshape(g, dx, TT_SHAPE(-1));
    return tt_slice(g, flat, 0, 0, (tt_dim(g, flat, 0) + SPARSE - 1) / SPARSE, SPARSE);
}

static void check_losses(void)
{
    static const TtStftResolution small[] = {{16, 3, 12}, {32, 6, 24}, {8, 2, 6}};
    static double x[PAPER], y[PAPER];
    noise(x, 120, 7), noise(y, 120, 13);
    for (int t = 0; t < 60; t++) x[t] = 0;
    Loss l = {small, TT_COUNT(small), 0};
    TtOpCheck c = {"stft losses", build_loss, &l, 2, {{TT_SHAPE(2, 60), .values = x}, {TT_SHAPE(2, 60), .values = y}}};
    tt_op_expect(&c, &small_loss[0], 1, 1e-5);
    tt_op_expect_grad(&c, 0, NULL, small_sc_dx, 120, 1e-5);
    l.part = 1;
    tt_op_expect(&c, &small_loss[1], 1, 1e-5);
    tt_op_expect_grad(&c, 0, NULL, small_mag_dx, 120, 1e-4);

    noise(x, PAPER, 7), noise(y, PAPER, 13);
    l = (Loss){NULL, 0, 0};
    c.in[0].shape = c.in[1].shape = TT_SHAPE(1, PAPER);
    tt_op_expect(&c, &paper_loss[0], 1, 1e-5);
    c.build = build_sparse_grad;
    tt_op_expect(&c, paper_sc_dx, TT_COUNT(paper_sc_dx), 1e-5);
    l.part = 1, c.build = build_loss;
    tt_op_expect(&c, &paper_loss[1], 1, 1e-5);
    c.build = build_sparse_grad;
    tt_op_expect(&c, paper_mag_dx, TT_COUNT(paper_mag_dx), 1e-4);

    /* Equal signals: nothing to gain, and no NaN. */
    static const double nothing[120] = {0};
    l = (Loss){small, TT_COUNT(small), 0};
    c = (TtOpCheck){
        "equal signals", build_loss, &l, 2, {{TT_SHAPE(2, 60), .values = x}, {TT_SHAPE(2, 60), .values = x}}};
    for (l.part = 0; l.part < 2; l.part++) {
        tt_op_expect(&c, nothing, 1, 1e-12);
        tt_op_expect_grad(&c, 0, NULL, nothing, 120, 1e-12);
    }
}

/* ---- what a config can do wrong */

static void refused(const char *message, TtShape shape, Build build, const void *user)
{
    TtGraph *g = tt_graph_new(&(TtGraphOptions){0});
    TtVal x = tt_input(g, "x", TT_F32, shape);
    build(g, &x, user);
    assert_int_equal(tt_graph_status(g), TT_ECONFIG);
    if (!strstr(tt_error_message(), message)) fail_msg("\"%s\" does not say \"%s\"", tt_error_message(), message);
    tt_graph_free(g);
}

static void check_refused(void)
{
    refused("rfft: the length is 0", TT_SHAPE(2, 0), build_transform, &(Transform){.kind = K_RFFT, .axis = -1});
    refused("rfft: the length is -3", TT_SHAPE(2, 4), build_transform,
            &(Transform){.kind = K_RFFT, .axis = -1, .n = -3});
    refused("rfft: no such axis", TT_SHAPE(2, 4), build_transform, &(Transform){.kind = K_RFFT, .axis = 2});
    refused("axes", TT_SHAPE(1, 1, 1, 1, 1, 4), build_transform, &(Transform){.kind = K_RFFT, .axis = -1});
    refused("not complex", TT_SHAPE(2, 3), build_transform, &(Transform){.kind = K_FFT, .axis = 0});
    refused("not complex", TT_SHAPE(2), build_transform, &(Transform){.kind = K_IFFT, .axis = 0});
    refused("irfft: the length is 0", TT_SHAPE(2, 1, 2), build_transform, &(Transform){.kind = K_IRFFT, .axis = 1});
    refused("no such axis", TT_SHAPE(2, 3, 2), build_transform, &(Transform){.kind = K_IRFFT, .axis = -3});
    refused("n_fft is 0", TT_SHAPE(2, 30), build_stft, &(Frames){0});
    refused("win_length is 9", TT_SHAPE(2, 30), build_stft, &(Frames){.options = {.n_fft = 8, .win_length = 9}});
    refused("hop_length is -1", TT_SHAPE(2, 30), build_stft, &(Frames){.options = {.n_fft = 8, .hop_length = -1}});
    refused("not (N,T)", TT_SHAPE(2, 30, 1), build_stft, &(Frames){.options = {.n_fft = 8}});
    refused("reflect padding", TT_SHAPE(2, 4), build_stft, &(Frames){.options = {.n_fft = 8}});
    refused("has no frame", TT_SHAPE(2, 7), build_stft, &(Frames){.options = {.n_fft = 8, .pad = TT_STFT_NONE}});
    refused("is not (N,frames,5,2)", TT_SHAPE(2, 4, 4, 2), build_istft, &(Frames){.options = {.n_fft = 8}});
    refused("overlap without a gap", TT_SHAPE(2, 4, 5, 2), build_istft,
            &(Frames){.options = {.n_fft = 8, .hop_length = 9}});
    refused("beside the padding", TT_SHAPE(2, 1, 5, 2), build_istft, &(Frames){.options = {.n_fft = 8}});
    refused("the length is -1", TT_SHAPE(2, 4, 5, 2), build_istft, &(Frames){.options = {.n_fft = 8}, .length = -1});
    refused("complex_abs", TT_SHAPE(2, 3), build_abs, &(double){1});
}

void tt_test_op_istft(void **state)
{
    expect_frames(build_istft, istfts, TT_COUNT(istfts));
    Frames f = {.options = {.n_fft = 40, .hop_length = 10, .win_length = 30}};
    TtOpCheck c = {"many frames", build_istft, &f, 1, {{TT_SHAPE(2, 263, 21, 2)}}, .numeric = -1};
    tt_op_check(&c);
    f.options.two_sided = true, f.options.hop_length = 1, f.length = 250;
    c.in[0].shape = TT_SHAPE(1, 260, 40, 2);
    tt_op_check(&c);
    expect_identity();
    check_losses();
    check_refused();
}
