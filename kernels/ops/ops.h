/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/ops.h - the emitters of all operations. */
#ifndef TT_KERNELS_OPS_OPS_H
#define TT_KERNELS_OPS_OPS_H

#include "kernels/ops/batch_norm.h"
#include "kernels/ops/binary.h"
#include "kernels/ops/concat.h"
#include "kernels/ops/conv.h"
#include "kernels/ops/conv1d.h"
#include "kernels/ops/ctc.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/fft.h"
#include "kernels/ops/fuse.h"
#include "kernels/ops/group_norm.h"
#include "kernels/ops/index.h"
#include "kernels/ops/interpolate.h"
#include "kernels/ops/layer_norm.h"
#include "kernels/ops/loss.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/pad.h"
#include "kernels/ops/pool.h"
#include "kernels/ops/prelu.h"
#include "kernels/ops/recurrent.h"
#include "kernels/ops/reduce.h"
#include "kernels/ops/shape.h"
#include "kernels/ops/si_snr.h"
#include "kernels/ops/softmax.h"
#include "kernels/ops/stft.h"
#include "kernels/ops/stft_loss.h"
#include "kernels/ops/unary.h"

#endif
