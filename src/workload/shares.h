#pragma once

#include "workload/shapes.h"
#include "workload/workload.h"

namespace ergometer::workload {

/// Parameters and distinct matrix sizes of a block that has its forward list: the matrices are what
/// its GEMMs multiply with, the rest (norms, biases, tables) is counted from the model. `layer`
/// says nothing about an embedding or a head.
void set_parameters(const spec::Job& job, const Shapes& shapes, const Workload& workload,
                    const spec::Layer& layer, Block& block);

/// What inference keeps of a layer, see cache.cpp.
CacheShare layer_cache(const spec::Model& model, const Shapes& shapes, const spec::Layer& layer);

/// What a block keeps for backward, see activations.cpp.
ActivationShare layer_activations(const spec::Job& job, const Shapes& shapes,
                                  const spec::Layer& layer);
/// Adds what autocast leaves of so many weights until their layer's backward: the 16-bit copy.
void keep_cast_weights(const Shapes& shapes, double weights, ActivationShare& share);
ActivationShare embedding_activations(const spec::Job& job, const Shapes& shapes);
ActivationShare head_activations(const spec::Job& job, const Shapes& shapes);
ActivationShare vocabulary_activations(const spec::Job& job, const Shapes& shapes);
ActivationShare mtp_activations(const spec::Job& job, const Shapes& shapes,
                                const spec::Layer& layer);

}  // namespace ergometer::workload
