// What every communicator promises of messages from one rank to another.
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/comm/gather.h"
#include "tests/conformance/comm/ranks.h"

namespace pdc::comm {
namespace {

class MessagesTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, MessagesTest, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

TEST_P(MessagesTest, MessagesOfOneTagArriveInOrder) {
  OnEveryRank(GetParam(), [](Rank& rank) {
    const int next = (rank.comm.rank() + 1) % rank.comm.size();
    const int previous = (rank.comm.rank() + rank.comm.size() - 1) % rank.comm.size();
    constexpr int kMessages = 50;
    std::vector<int64_t> sent(kMessages);
    std::vector<int64_t> received(kMessages, -1);
    std::vector<std::unique_ptr<Pending>> pending;
    for (int k = 0; k < kMessages; ++k) {
      sent[k] = rank.comm.rank() * 1000 + k;
      auto send = rank.comm.Send(&sent[k], sizeof(sent[k]), next, 3);
      auto receive = rank.comm.Receive(&received[k], sizeof(received[k]), previous, 3);
      ASSERT_TRUE(send.ok() && receive.ok());
      pending.push_back(std::move(*send));
      pending.push_back(std::move(*receive));
    }
    for (auto& operation : pending) PDC_ASSERT_OK(operation->Wait(Soon()));
    for (int k = 0; k < kMessages; ++k) EXPECT_EQ(received[k], previous * 1000 + k);
  });
}

TEST_P(MessagesTest, MessagesOfDifferentTagsAreReceivedInAnyOrder) {
  if (GetParam() < 2) GTEST_SKIP() << "needs two ranks";
  OnEveryRank(GetParam(), [](Rank& rank) {
    constexpr int kTags = 50;  // more than a communicator has room for at once
    int values[kTags];
    std::vector<std::unique_ptr<Pending>> pending;
    if (rank.comm.rank() == 0) {
      for (int tag = 0; tag < kTags; ++tag) {
        values[tag] = 100 + tag;
        auto send = rank.comm.Send(&values[tag], sizeof(int), 1, tag);
        ASSERT_TRUE(send.ok());
        pending.push_back(std::move(*send));
      }
      for (auto& operation : pending) PDC_ASSERT_OK(operation->Wait(Soon()));
    } else if (rank.comm.rank() == 1) {
      for (int tag = kTags - 1; tag >= 0; --tag) {
        PDC_ASSERT_OK(Finish(rank.comm.Receive(&values[tag], sizeof(int), 0, tag)));
        EXPECT_EQ(values[tag], 100 + tag);
      }
    }
  });
}

// Neither rank gets on unless the message that it waits for overtakes those that nobody receives yet, in both directions
// and whichever side waits for it first; messages of several pieces among them.
TEST_P(MessagesTest, AMessageThatIsWaitedForOvertakesOthers) {
  if (GetParam() < 2) GTEST_SKIP() << "needs two ranks";
  OnEveryRank(GetParam(), [](Rank& rank) {
    if (rank.comm.rank() > 1) return;
    constexpr int kTags = 24;
    constexpr size_t kElements = 20000;
    const int peer = 1 - rank.comm.rank();
    std::vector<std::vector<int>> sent(kTags), received(kTags, std::vector<int>(kElements, -1));
    std::vector<std::unique_ptr<Pending>> sends(kTags);
    for (int round = 0; round < 3; ++round) {
      for (int tag = 0; tag < kTags; ++tag) {
        sent[tag].assign(kElements, 1000 * rank.comm.rank() + 100 * round + tag);
        auto send = rank.comm.Send(sent[tag].data(), kElements * sizeof(int), peer, tag);
        ASSERT_TRUE(send.ok());
        sends[tag] = std::move(*send);
      }
      for (int i = 0; i < kTags; ++i) {
        // Two orders that have little to do with each other.
        const int tag = rank.comm.rank() == 0 ? (i * 7 + round) % kTags : kTags - 1 - i;
        PDC_ASSERT_OK(Finish(rank.comm.Receive(received[tag].data(), kElements * sizeof(int), peer, tag)));
        EXPECT_EQ(received[tag], std::vector<int>(kElements, 1000 * peer + 100 * round + tag));
      }
      for (int i = 0; i < kTags; ++i) PDC_ASSERT_OK(sends[kTags - 1 - i]->Wait(Soon()));
    }
  });
}

// Around the ring, all at once, from private and from shared memory.
TEST_P(MessagesTest, MessagesOfAnySizeAreSentFromAnyMemory) {
  OnEveryRank(GetParam(), [](Rank& rank) {
    const int next = (rank.comm.rank() + 1) % rank.comm.size();
    const int previous = (rank.comm.rank() + rank.comm.size() - 1) % rank.comm.size();
    for (size_t bytes : {0, 1, 4096, 200001}) {
      for (bool shared : {false, true}) {
        std::vector<std::byte> own(bytes);
        std::byte* out = shared ? rank.memory : own.data();
        for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 31 + rank.comm.rank());
        std::vector<std::byte> in(bytes + 1);
        auto receive = rank.comm.Receive(in.data(), bytes, previous, 9);
        auto send = rank.comm.Send(out, bytes, next, 9);
        ASSERT_TRUE(receive.ok() && send.ok());
        PDC_ASSERT_OK((*send)->Wait(Soon()));
        PDC_ASSERT_OK((*receive)->Wait(Soon()));
        for (size_t i = 0; i < bytes; ++i) {
          ASSERT_EQ(in[i], static_cast<std::byte>(i * 31 + previous)) << "byte " << i << " of " << bytes;
        }
        EXPECT_EQ(in[bytes], std::byte{0});
      }
    }
  });
}

// Messages of one channel that are on their way at once, each in as many parts as a transport may make of it.
TEST_P(MessagesTest, LongMessagesOfOneTagArriveInOrder) {
  OnEveryRank(GetParam(), [](Rank& rank) {
    const std::vector<size_t> sizes = {61440, 100001, 4 << 20, (4 << 20) + 1, 3, 5000001, 61441};
    const int next = (rank.comm.rank() + 1) % rank.comm.size();
    const int previous = (rank.comm.rank() + rank.comm.size() - 1) % rank.comm.size();
    std::vector<std::vector<int8_t>> sent, received;
    std::vector<std::unique_ptr<Pending>> pending;
    for (size_t k = 0; k < sizes.size(); ++k) {
      received.emplace_back(sizes[k]);
      auto receive = rank.comm.Receive(received[k].data(), sizes[k], previous, 9);
      ASSERT_TRUE(receive.ok());
      pending.push_back(std::move(*receive));
    }
    for (size_t k = 0; k < sizes.size(); ++k) {
      std::vector<int8_t>& message = sent.emplace_back(sizes[k]);
      for (size_t i = 0; i < sizes[k]; ++i) message[i] = static_cast<int8_t>(i % 251 + 3 * k + rank.comm.rank());
      auto send = rank.comm.Send(message.data(), sizes[k], next, 9);
      ASSERT_TRUE(send.ok());
      pending.push_back(std::move(*send));
    }
    for (auto& operation : pending) PDC_ASSERT_OK(operation->Wait(Soon()));
    for (size_t k = 0; k < sizes.size(); ++k) {
      size_t wrong = 0;
      for (size_t i = 0; i < sizes[k]; ++i) wrong += received[k][i] != static_cast<int8_t>(i % 251 + 3 * k + previous);
      EXPECT_EQ(wrong, 0u) << "message " << k << " of " << sizes[k] << " bytes";
    }
  });
}

TEST_P(MessagesTest, TextOfAllRanksIsGatheredOnTheFirst) {
  OnEveryRank(GetParam(), [](Rank& rank) {
    auto text = [](int r) { return std::string(static_cast<size_t>(r) * 30000, static_cast<char>('a' + r)); };
    absl::StatusOr<std::vector<std::string>> texts = GatherText(rank.comm, text(rank.comm.rank()), Soon());
    ASSERT_TRUE(texts.ok()) << texts.status();
    ASSERT_EQ(texts->size(), rank.comm.rank() == 0 ? rank.comm.size() : 0);
    for (size_t r = 0; r < texts->size(); ++r) EXPECT_EQ((*texts)[r], text(static_cast<int>(r)));
  });
}

TEST_P(MessagesTest, MessagesPassWhileACollectiveWaits) {
  if (GetParam() < 2) GTEST_SKIP() << "needs two ranks";
  OnEveryRank(GetParam(), [](Rank& rank) {
    auto* data = reinterpret_cast<int32_t*>(rank.memory);
    data[0] = 1;
    int token = 7;
    if (rank.comm.rank() == 1) {
      // The collective of rank 0 waits for this rank, which waits for a message of rank 0.
      token = 0;
      PDC_ASSERT_OK(Finish(rank.comm.Receive(&token, sizeof(token), 0, 0)));
      EXPECT_EQ(token, 7);
    }
    auto reduce = rank.comm.AllReduce(rank.world, data, 1, ElementType::kI32, ReduceOp::kSum);
    ASSERT_TRUE(reduce.ok());
    if (rank.comm.rank() == 0) PDC_ASSERT_OK(Finish(rank.comm.Send(&token, sizeof(token), 1, 0)));
    PDC_ASSERT_OK((*reduce)->Wait(Soon()));
    EXPECT_EQ(data[0], rank.comm.size());
  });
}

}  // namespace
}  // namespace pdc::comm
