// What every communicator promises of its collectives.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "runtime/comm/element.h"
#include "tests/conformance/comm/elements.h"
#include "tests/conformance/comm/ranks.h"

namespace pdc::comm {
namespace {

class CollectivesTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CollectivesTest, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

// Element i of rank's contribution; sums of seven stay below 127.
int Contribution(ElementType type, int rank, int64_t i) {
  const int value = static_cast<int>((rank * 3 + i * 7) % 17);
  return type == ElementType::kI1 ? value % 2 : value;
}

double Expected(ElementType type, ReduceOp op, const std::vector<int> &ranks, int64_t i) {
  double result = 0;
  for (int rank : ranks) {
    const int value = Contribution(type, rank, i);
    result = op == ReduceOp::kSum ? result + value : std::max<double>(result, value);
  }
  return result;
}

void Fill(Rank &rank, ElementType type, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    Put(type, rank.memory, i, Contribution(type, rank.comm.rank(), i));
}

bool IsDefined(ElementType type, ReduceOp op) { return CheckReduction(type, op).ok(); }

TEST_P(CollectivesTest, AllReduceReducesEveryElementTypeOnAllMembers) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    for (ElementType type : kAllTypes) {
      for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
        if (!IsDefined(type, op))
          continue;
        for (int64_t count : {0, 1, 7, 64, 5001}) {
          Fill(rank, type, count + 1);
          PDC_ASSERT_OK(Finish(rank.comm.AllReduce(rank.world, rank.memory, count, type, op)));
          for (int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(Get(type, rank.memory, i), Expected(type, op, rank.world.ranks(), i))
                << ElementName(type) << " element " << i << " of " << count;
          }
          ASSERT_EQ(Get(type, rank.memory, count), Contribution(type, rank.comm.rank(), count))
              << "wrote behind the last element";
        }
      }
    }
  });
}

TEST_P(CollectivesTest, ReduceScatterReducesUnevenPartsAndEmptyOnes) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    std::vector<int64_t> counts(rank.comm.size());
    for (int i = 0; i < rank.comm.size(); ++i)
      counts[i] = i % 3 == 1 ? 0 : 37 * (i + 1);
    const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    const int64_t begin = std::accumulate(counts.begin(), counts.begin() + rank.world.index(), int64_t{0});
    for (ElementType type : kAllTypes) {
      for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
        if (!IsDefined(type, op))
          continue;
        Fill(rank, type, total);
        PDC_ASSERT_OK(Finish(rank.comm.ReduceScatter(rank.world, rank.memory, counts, type, op)));
        for (int64_t i = begin; i < begin + counts[rank.world.index()]; ++i) {
          ASSERT_EQ(Get(type, rank.memory, i), Expected(type, op, rank.world.ranks(), i))
              << ElementName(type);
        }
      }
    }
  });
}

TEST_P(CollectivesTest, AllGatherJoinsUnevenPartsAndEmptyOnes) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    std::vector<int64_t> counts(rank.comm.size());
    for (int i = 0; i < rank.comm.size(); ++i)
      counts[i] = i % 3 == 1 ? 0 : 51 * (i + 1);
    for (ElementType type : kAllTypes) {
      int64_t begin = 0;
      for (int i = 0; i < rank.comm.size(); ++i) {
        for (int64_t k = begin; k < begin + counts[i]; ++k) {
          Put(type, rank.memory, k, i == rank.world.index() ? Contribution(type, i, k) : 0);
        }
        begin += counts[i];
      }
      PDC_ASSERT_OK(Finish(rank.comm.AllGather(rank.world, rank.memory, counts, type)));
      begin = 0;
      for (int i = 0; i < rank.comm.size(); ++i) {
        for (int64_t k = begin; k < begin + counts[i]; ++k) {
          ASSERT_EQ(Get(type, rank.memory, k), Contribution(type, i, k)) << ElementName(type);
        }
        begin += counts[i];
      }
    }
  });
}

TEST_P(CollectivesTest, AllToAllTransposesBlocks) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    const int members = rank.comm.size();
    const int me = rank.world.index();
    for (int64_t count : {0, 1, 333}) {
      auto *send = reinterpret_cast<int32_t *>(rank.memory);
      int32_t *receive = send + members * count;
      for (int64_t i = 0; i < members * count; ++i)
        send[i] = static_cast<int32_t>(me * 1000000 + i);
      PDC_ASSERT_OK(Finish(rank.comm.AllToAll(rank.world, send, receive, count, ElementType::kI32)));
      for (int j = 0; j < members; ++j) {
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(receive[j * count + i], j * 1000000 + me * count + i) << "from " << j << " element " << i;
        }
      }
    }
  });
}

TEST_P(CollectivesTest, BroadcastSendsTheDataOfAnyRoot) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    for (int root = 0; root < rank.comm.size(); ++root) {
      for (int64_t count : {0, 1, 4099}) {
        Fill(rank, ElementType::kBF16, count);
        PDC_ASSERT_OK(Finish(rank.comm.Broadcast(rank.world, rank.memory, count, ElementType::kBF16, root)));
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(Get(ElementType::kBF16, rank.memory, i), Contribution(ElementType::kBF16, root, i));
        }
      }
    }
  });
}

// Values whose sum depends on the order of additions.
float Rough(int rank, int64_t i) {
  std::minstd_rand random(static_cast<uint32_t>(rank * 7919 + i * 104729 + 1));
  random.discard(2);
  const float mantissa = static_cast<float>(random() % 2000001) - 1000000.0f;
  return std::ldexp(mantissa, static_cast<int>(random() % 24) - 12);
}

// In the order of `ranks`; where the communicator promises it, those of one node first, then the sums of nodes.
float SumInOrder(Communicator &comm, const std::vector<int> &ranks, int64_t i) {
  const bool nodes_first = comm.name() == "hierarchical";
  std::vector<int> nodes;
  std::vector<float> sums;
  for (int rank : ranks) {
    const int node = nodes_first ? comm.node(rank) : 0;
    const size_t k = std::find(nodes.begin(), nodes.end(), node) - nodes.begin();
    if (k < nodes.size()) {
      sums[k] += Rough(rank, i);
    } else {
      nodes.push_back(node);
      sums.push_back(Rough(rank, i));
    }
  }
  float sum = sums[0];
  for (size_t k = 1; k < sums.size(); ++k)
    sum += sums[k];
  return sum;
}

TEST_P(CollectivesTest, ContributionsAreAddedInTheOrderOfTheGroupsRanks) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    std::vector<int> backwards(rank.comm.size());
    for (int i = 0; i < rank.comm.size(); ++i)
      backwards[i] = rank.comm.size() - 1 - i;
    absl::StatusOr<std::unique_ptr<Group>> group = rank.comm.CreateGroup(backwards);
    ASSERT_TRUE(group.ok()) << group.status();
    auto *data = reinterpret_cast<float *>(rank.memory);
    for (int64_t i = 0; i < 3000; ++i)
      data[i] = Rough(rank.comm.rank(), i);
    PDC_ASSERT_OK(Finish(rank.comm.AllReduce(**group, data, 3000, ElementType::kF32, ReduceOp::kSum)));
    for (int64_t i = 0; i < 3000; ++i)
      ASSERT_EQ(data[i], SumInOrder(rank.comm, backwards, i)) << i;
  });
}

TEST_P(CollectivesTest, Bf16AndF16AreAddedInF32AndRoundedOnce) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    // In bf16, 256 + 1 rounds back to 256 for every further rank; in f16 the same happens at 2048.
    const int others = rank.comm.size() - 1;
    for (auto [type, large] : {std::pair(ElementType::kBF16, 256), std::pair(ElementType::kF16, 2048)}) {
      for (int i = 0; i < 100; ++i)
        Put(type, rank.memory, i, rank.comm.rank() == 0 ? large : 1);
      PDC_ASSERT_OK(Finish(rank.comm.AllReduce(rank.world, rank.memory, 100, type, ReduceOp::kSum)));
      // To nearest, ties to even, at a spacing of 2.
      const double expected = large + (others % 2 == 0 ? others : others % 4 == 1 ? others - 1 : others + 1);
      for (int i = 0; i < 100; ++i)
        ASSERT_EQ(Get(type, rank.memory, i), expected) << ElementName(type);
    }
  });
}

TEST_P(CollectivesTest, ResultsAreTheSameBitsWhoeverComesFirst) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    std::mt19937 random(static_cast<uint32_t>(rank.comm.rank() + 1));
    auto *data = reinterpret_cast<float *>(rank.memory);
    for (int round = 0; round < 6; ++round) {
      for (int64_t i = 0; i < 1500; ++i)
        data[i] = Rough(rank.comm.rank(), i);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      PDC_ASSERT_OK(Finish(rank.comm.AllReduce(rank.world, data, 1500, ElementType::kF32, ReduceOp::kSum)));
      for (int64_t i = 0; i < 1500; ++i)
        ASSERT_EQ(data[i], SumInOrder(rank.comm, rank.world.ranks(), i)) << i;
    }
  });
}

TEST_P(CollectivesTest, BuffersLargerThanAPieceArriveWhole) {
  if (GetParam() > 4)
    GTEST_SKIP() << "covered by smaller jobs";
  OnEveryRank(GetParam(), [](Rank &rank) {
    // Slices of a little over 1 MiB on each rank.
    const int64_t slice = (1 << 18) + 1031;
    const int64_t count = slice * rank.comm.size();
    absl::StatusOr<void *> memory = rank.comm.AllocateShared(2 * count * sizeof(float));
    ASSERT_TRUE(memory.ok()) << memory.status();
    auto *data = static_cast<float *>(*memory);
    auto value = [](int r, int64_t i) { return static_cast<float>((r + 1) * (i % 1013)); };
    auto fill = [&] {
      for (int64_t i = 0; i < count; ++i)
        data[i] = value(rank.comm.rank(), i);
    };
    const float ranks = static_cast<float>(rank.comm.size() * (rank.comm.size() + 1) / 2);

    fill();
    PDC_ASSERT_OK(Finish(rank.comm.AllReduce(rank.world, data, count, ElementType::kF32, ReduceOp::kSum)));
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(data[i], ranks * static_cast<float>(i % 1013)) << i;

    fill();
    const std::vector<int64_t> counts(rank.comm.size(), slice);
    PDC_ASSERT_OK(Finish(rank.comm.AllGather(rank.world, data, counts, ElementType::kF32)));
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(data[i], value(static_cast<int>(i / slice), i)) << i;

    fill();
    PDC_ASSERT_OK(Finish(rank.comm.AllToAll(rank.world, data, data + count, slice, ElementType::kF32)));
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(data[count + i], value(static_cast<int>(i / slice), rank.world.index() * slice + i % slice))
          << i;
    }

    const int root = rank.comm.size() - 1;
    PDC_ASSERT_OK(Finish(rank.comm.Broadcast(rank.world, data, count, ElementType::kF32, root)));
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(data[i], value(root, i)) << i;
  });
}

TEST_P(CollectivesTest, DisjointGroupsWorkAtOnce) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    std::vector<int> mine;
    for (int r = rank.comm.rank() % 2; r < rank.comm.size(); r += 2)
      mine.push_back(r);
    absl::StatusOr<std::unique_ptr<Group>> group = rank.comm.CreateGroup(mine);
    ASSERT_TRUE(group.ok()) << group.status();
    EXPECT_EQ((*group)->ranks(), mine);
    EXPECT_EQ((*group)->index(), rank.comm.rank() / 2);
    for (int round = 0; round < 20; ++round) {
      Fill(rank, ElementType::kI32, 100);
      PDC_ASSERT_OK(
          Finish(rank.comm.AllReduce(**group, rank.memory, 100, ElementType::kI32, ReduceOp::kSum)));
      for (int64_t i = 0; i < 100; ++i) {
        ASSERT_EQ(Get(ElementType::kI32, rank.memory, i),
                  Expected(ElementType::kI32, ReduceOp::kSum, mine, i));
      }
    }
  });
}

TEST_P(CollectivesTest, GroupsOfAnyRanksInAnyOrderRunEveryCollective) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    for (uint32_t seed = 1; seed <= 8; ++seed) {
      // The same on all ranks.
      std::mt19937 random(seed);
      std::vector<int> ranks(rank.comm.size());
      std::iota(ranks.begin(), ranks.end(), 0);
      std::shuffle(ranks.begin(), ranks.end(), random);
      ranks.resize(1 + random() % ranks.size());
      const auto members = static_cast<int>(ranks.size());
      const int root = static_cast<int>(random() % ranks.size());
      const int64_t count = static_cast<int64_t>(random() % 700);
      std::vector<int64_t> counts;
      for (int i = 0; i < members; ++i)
        counts.push_back(static_cast<int64_t>(random() % 90));
      const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
      if (std::count(ranks.begin(), ranks.end(), rank.comm.rank()) == 0)
        continue;

      absl::StatusOr<std::unique_ptr<Group>> created = rank.comm.CreateGroup(ranks);
      ASSERT_TRUE(created.ok()) << created.status();
      Group &group = **created;
      const ElementType type = ElementType::kBF16; // sums of nodes are wider than it
      Fill(rank, type, count);
      PDC_ASSERT_OK(Finish(rank.comm.AllReduce(group, rank.memory, count, type, ReduceOp::kSum)));
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(Get(type, rank.memory, i), Expected(type, ReduceOp::kSum, ranks, i)) << "seed " << seed;
      }
      Fill(rank, type, total);
      PDC_ASSERT_OK(Finish(rank.comm.ReduceScatter(group, rank.memory, counts, type, ReduceOp::kSum)));
      const int64_t mine = std::accumulate(counts.begin(), counts.begin() + group.index(), int64_t{0});
      for (int64_t i = mine; i < mine + counts[group.index()]; ++i) {
        ASSERT_EQ(Get(type, rank.memory, i), Expected(type, ReduceOp::kSum, ranks, i)) << "seed " << seed;
      }
      Fill(rank, type, total);
      PDC_ASSERT_OK(Finish(rank.comm.AllGather(group, rank.memory, counts, type)));
      for (int64_t i = 0, begin = 0, member = 0; member < members; begin += counts[member++]) {
        for (; i < begin + counts[member]; ++i) {
          ASSERT_EQ(Get(type, rank.memory, i), Contribution(type, ranks[member], i)) << "seed " << seed;
        }
      }
      Fill(rank, type, count);
      PDC_ASSERT_OK(Finish(rank.comm.Broadcast(group, rank.memory, count, type, root)));
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(Get(type, rank.memory, i), Contribution(type, ranks[root], i)) << "seed " << seed;
      }
      auto *send = reinterpret_cast<int32_t *>(rank.memory);
      int32_t *receive = send + members * count;
      for (int64_t i = 0; i < members * count; ++i)
        send[i] = static_cast<int32_t>(group.index() * 1000000 + i);
      PDC_ASSERT_OK(Finish(rank.comm.AllToAll(group, send, receive, count, ElementType::kI32)));
      for (int64_t i = 0; i < members * count; ++i) {
        ASSERT_EQ(receive[i], i / count * 1000000 + group.index() * count + i % count) << "seed " << seed;
      }
    }
  });
}

TEST_P(CollectivesTest, GroupsThatShareRanksDoNotWaitForEachOther) {
  if (GetParam() < 3)
    GTEST_SKIP() << "needs three ranks";
  OnEveryRank(GetParam(), [](Rank &rank) {
    // Ranks 0 and 1 finish although rank 2 comes to their other group only afterwards.
    if (rank.comm.rank() > 2)
      return;
    absl::StatusOr<std::unique_ptr<Group>> three = rank.comm.CreateGroup({0, 1, 2});
    ASSERT_TRUE(three.ok()) << three.status();
    auto *data = reinterpret_cast<int64_t *>(rank.memory);
    data[0] = data[1] = rank.comm.rank() + 1;
    if (rank.comm.rank() == 2) {
      int64_t ready = 0;
      PDC_ASSERT_OK(Finish(rank.comm.Receive(&ready, sizeof(ready), 0, 5)));
      EXPECT_EQ(ready, 3);
    } else {
      absl::StatusOr<std::unique_ptr<Group>> two = rank.comm.CreateGroup({0, 1});
      ASSERT_TRUE(two.ok()) << two.status();
      auto late = rank.comm.AllReduce(**three, data, 1, ElementType::kI64, ReduceOp::kSum);
      ASSERT_TRUE(late.ok());
      PDC_ASSERT_OK(Finish(rank.comm.AllReduce(**two, data + 1, 1, ElementType::kI64, ReduceOp::kSum)));
      EXPECT_EQ(data[1], 3);
      if (rank.comm.rank() == 0)
        PDC_ASSERT_OK(Finish(rank.comm.Send(data + 1, sizeof(data[1]), 2, 5)));
      PDC_ASSERT_OK((*late)->Wait(Soon()));
      EXPECT_EQ(data[0], 6);
      return;
    }
    PDC_ASSERT_OK(Finish(rank.comm.AllReduce(**three, data, 1, ElementType::kI64, ReduceOp::kSum)));
    EXPECT_EQ(data[0], 6);
  });
}

TEST_P(CollectivesTest, ManyOperationsMayBeInFlightAndWaitedForInAnyOrder) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    constexpr int kOperations = 64;
    constexpr int64_t kCount = 500;
    auto *data = reinterpret_cast<int32_t *>(rank.memory);
    for (int round = 0; round < 3; ++round) {
      std::vector<std::unique_ptr<Pending>> pending;
      for (int k = 0; k < kOperations; ++k) {
        for (int64_t i = 0; i < kCount; ++i)
          data[k * kCount + i] = static_cast<int32_t>(rank.comm.rank() + k + i);
        auto started =
            rank.comm.AllReduce(rank.world, data + k * kCount, kCount, ElementType::kI32, ReduceOp::kSum);
        ASSERT_TRUE(started.ok()) << started.status();
        pending.push_back(std::move(*started));
      }
      const int n = rank.comm.size();
      for (int k = kOperations - 1; k >= 0; --k) {
        PDC_ASSERT_OK(pending[k]->Wait(Soon()));
        for (int64_t i = 0; i < kCount; ++i) {
          ASSERT_EQ(data[k * kCount + i], n * (n - 1) / 2 + n * (k + i));
        }
      }
    }
  });
}

TEST_P(CollectivesTest, OperationsFinishWhileTheirRankComputes) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    // No rank waits before its last peer could have read the result: only communication threads can have made
    // it.
    auto *data = reinterpret_cast<int32_t *>(rank.memory);
    data[0] = 1;
    auto pending = rank.comm.AllReduce(rank.world, data, 1, ElementType::kI32, ReduceOp::kSum);
    ASSERT_TRUE(pending.ok()) << pending.status();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    // A deadline in the past is met by an operation that is done, and by no other.
    PDC_ASSERT_OK((*pending)->Wait(Clock::now() - std::chrono::seconds(1)));
    EXPECT_EQ(data[0], rank.comm.size());
  });
}

TEST_P(CollectivesTest, NobodyLeavesABarrierBeforeAllHaveCome) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    // All ranks are on one machine and share its clock.
    auto now = [] { return Clock::now().time_since_epoch().count(); };
    auto *times = reinterpret_cast<int64_t *>(rank.memory);
    for (int last = 0; last < rank.comm.size(); ++last) {
      if (rank.comm.rank() == last)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      times[0] = now();
      PDC_ASSERT_OK(rank.comm.Barrier(Soon()));
      times[1] = -now();
      PDC_ASSERT_OK(Finish(rank.comm.AllReduce(rank.world, times, 2, ElementType::kI64, ReduceOp::kMax)));
      EXPECT_LE(times[0], -times[1]) << "a rank left before the last one came";
    }
  });
}

TEST_P(CollectivesTest, SharedMemoryIsZeroedAndAlignedAndMayDifferInSize) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    const size_t bytes = rank.comm.rank() == 1 ? 0 : 5000 * (rank.comm.rank() + 1);
    absl::StatusOr<void *> memory = rank.comm.AllocateShared(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 4096, 0u);
    for (size_t i = 0; i < bytes; ++i)
      ASSERT_EQ(static_cast<std::byte *>(*memory)[i], std::byte{0});
  });
}

TEST_P(CollectivesTest, MistakesAreRefusedBeforeAnythingStarts) {
  OnEveryRank(GetParam(), [](Rank &rank) {
    auto code = [](const auto &result) { return result.status().code(); };
    const auto invalid = absl::StatusCode::kInvalidArgument;
    const std::vector<int64_t> wrong_counts(rank.comm.size() + 1, 1);
    std::vector<int64_t> negative_counts(rank.comm.size(), 1);
    negative_counts[0] = -1;
    void *data = rank.memory;
    EXPECT_EQ(code(rank.comm.AllReduce(rank.world, data, -1, ElementType::kF32, ReduceOp::kSum)), invalid);
    EXPECT_EQ(code(rank.comm.AllReduce(rank.world, data, 1, ElementType::kI1, ReduceOp::kSum)), invalid);
    EXPECT_EQ(code(rank.comm.AllGather(rank.world, data, wrong_counts, ElementType::kF32)), invalid);
    EXPECT_EQ(code(rank.comm.AllGather(rank.world, data, negative_counts, ElementType::kF32)), invalid);
    EXPECT_EQ(code(rank.comm.Broadcast(rank.world, data, 1, ElementType::kF32, rank.comm.size())), invalid);
    EXPECT_EQ(code(rank.comm.Send(data, 1, rank.comm.size(), 0)), invalid);
    EXPECT_EQ(code(rank.comm.Receive(data, 1, 0, -1)), invalid);
    EXPECT_EQ(code(rank.comm.CreateGroup({})), invalid);
    EXPECT_EQ(code(rank.comm.CreateGroup({rank.comm.rank(), rank.comm.rank()})), invalid);
    EXPECT_EQ(code(rank.comm.CreateGroup({rank.comm.rank(), rank.comm.size()})), invalid);
    if (rank.comm.size() > 1) {
      EXPECT_EQ(code(rank.comm.CreateGroup({(rank.comm.rank() + 1) % rank.comm.size()})), invalid);
    }
    // The communicator still works.
    PDC_EXPECT_OK(rank.comm.Barrier(Soon()));
  });
}

} // namespace
} // namespace pdc::comm
