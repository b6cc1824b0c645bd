#include "runtime/train/data/shuffle.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace pdc::train {
namespace {

std::vector<int64_t> Epoch(int64_t size, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < size; ++i) order.push_back(ShuffledSample(epoch * size + i, size, seed));
  return order;
}

TEST(Shuffle, OfEveryEpochIsAPermutation) {
  for (int64_t size : {1, 2, 3, 4, 5, 17, 64, 100, 1023}) {
    for (int64_t epoch : {0, 1, 7}) {
      std::vector<int64_t> order = Epoch(size, 5, epoch);
      std::sort(order.begin(), order.end());
      std::vector<int64_t> all(size);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(order, all) << "size " << size << ", epoch " << epoch;
    }
  }
}

TEST(Shuffle, DiffersByEpochAndSeedAndIsReproducible) {
  EXPECT_EQ(Epoch(100, 1, 0), Epoch(100, 1, 0));
  EXPECT_NE(Epoch(100, 1, 0), Epoch(100, 1, 1));
  EXPECT_NE(Epoch(100, 1, 0), Epoch(100, 2, 0));
}

TEST(Shuffle, MixesNeighbours) {
  const std::vector<int64_t> order = Epoch(1000, 3, 0);
  int adjacent = 0, in_place = 0;
  for (int i = 0; i < 1000; ++i) {
    in_place += order[i] == i;
    adjacent += i > 0 && order[i] == order[i - 1] + 1;
  }
  EXPECT_LE(in_place, 8);  // a random permutation has one on average
  EXPECT_LE(adjacent, 8);
}

TEST(Shuffle, ReachesTheEndsOfALargeDataSet) {
  const int64_t size = (int64_t{1} << 40) + 3;
  const EpochPermutation permutation(size, 1, 0);
  for (int64_t i : {int64_t{0}, size / 2, size - 1}) {
    EXPECT_GE(permutation(i), 0);
    EXPECT_LT(permutation(i), size);
  }
}

}  // namespace
}  // namespace pdc::train
