// The order of samples: a permutation of each epoch that is a pure function of (seed, epoch, index), so that
// a data position is one number, nothing is stored, and every rank of any number of ranks sees the same
// global batches.
#ifndef PDC_RUNTIME_TRAIN_DATA_SHUFFLE_H_
#define PDC_RUNTIME_TRAIN_DATA_SHUFFLE_H_

#include <cstdint>
#include <utility>

#include "runtime/train/philox.h"

namespace pdc::train {

// A Feistel network over the smallest even number of bits that holds `size`, its rounds keyed by Philox;
// results outside [0, size) are fed back until one is inside (cycle walking; Black and Rogaway, "Ciphers with
// Arbitrary Finite Domains", CT-RSA 2002).
class EpochPermutation {
 public:
  // Requires size >= 1.
  EpochPermutation(int64_t size, uint64_t seed, int64_t epoch)
      : size_(static_cast<uint64_t>(size)), seed_(seed), epoch_(static_cast<uint64_t>(epoch)) {
    while ((uint64_t{1} << (2 * half_bits_)) < size_) ++half_bits_;
  }

  // A bijection of [0, size).
  int64_t operator()(int64_t index) const {
    uint64_t value = static_cast<uint64_t>(index);
    do value = Encrypt(value);
    while (value >= size_);
    return static_cast<int64_t>(value);
  }

 private:
  static constexpr uint32_t kRounds = 6;

  uint64_t Encrypt(uint64_t value) const {
    const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
    uint64_t left = value >> half_bits_;
    uint64_t right = value & mask;
    for (uint32_t round = 0; round < kRounds; ++round) {
      const uint32_t word = Philox4x32({LowWord(right), round, LowWord(epoch_), HighWord(epoch_)},
                                       {LowWord(seed_), HighWord(seed_)})[0];
      left = std::exchange(right, left ^ (word & mask));
    }
    return left << half_bits_ | right;
  }

  uint64_t size_;
  uint64_t seed_;
  uint64_t epoch_;
  int half_bits_ = 1;
};

// The sample at `position`: samples consumed since training began. Epochs follow each other without a gap, so
// the batch at the end of an epoch takes its missing samples from the beginning of the next: each epoch sees
// every sample exactly once, and no batch is short.
inline int64_t ShuffledSample(int64_t position, int64_t size, uint64_t seed) {
  return EpochPermutation(size, seed, position / size)(position % size);
}

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_DATA_SHUFFLE_H_
