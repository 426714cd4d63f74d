// CoDel and RED of ns-3 on a link of 8 Mbit/s, with arrivals that do not react. Prints one line for each case and time.
//
// Columns: case, time in ms, packets dropped so far, mean queue length so far in packets (without the one in transmission,
// sampled each millisecond).
#include <ns3/core-module.h>
#include <ns3/network-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

using namespace ns3;

namespace
{

const uint32_t PAYLOAD = 1000;

class Item : public QueueDiscItem
{
  public:
    Item() : QueueDiscItem(Create<Packet>(PAYLOAD), Address(), 0) {}
    void AddHeader() override {}
    bool Mark() override { return false; }
};

// A transmitter that takes a packet from the queue each millisecond while there is one.
struct Link
{
    Ptr<QueueDisc> queue;
    bool busy = false;
    uint64_t samples = 0, length = 0;

    void Offer()
    {
        queue->Enqueue(Create<Item>());
        if (!busy)
        {
            Take();
        }
    }

    void Take()
    {
        busy = queue->Dequeue() != nullptr;
        if (busy)
        {
            Simulator::Schedule(MilliSeconds(1), &Link::Take, this);
        }
    }

    void Sample()
    {
        samples++;
        length += queue->GetNPackets();
        Simulator::Schedule(MilliSeconds(1), &Link::Sample, this);
    }
};

void
Run(const std::string& name, Ptr<QueueDisc> queue, uint64_t seconds, std::function<Time()> gap)
{
    Link link{queue};
    queue->Initialize();
    std::function<void()> next = [&] {
        link.Offer();
        Simulator::Schedule(gap(), next);
    };
    Simulator::Schedule(Seconds(0), next);
    Simulator::Schedule(MicroSeconds(500), &Link::Sample, &link);
    std::function<void()> print = [&] {
        std::printf("%s,%ld,%u,%.3f\n",
                    name.c_str(),
                    Simulator::Now().GetMilliSeconds(),
                    queue->GetStats().nTotalDroppedPackets,
                    double(link.length) / double(link.samples));
        Simulator::Schedule(Seconds(seconds / 20.0), print);
    };
    // Between two departures and arrivals, so that the order of events at one time does not matter.
    Simulator::Schedule(Seconds(seconds / 20.0) - MicroSeconds(100), print);
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    Simulator::Destroy();
}

Ptr<QueueDisc>
Codel()
{
    auto codel = CreateObject<CoDelQueueDisc>();
    codel->SetAttribute("MaxSize", StringValue("100000p"));
    codel->SetAttribute("MinBytes", UintegerValue(1500));
    return codel;
}

Ptr<QueueDisc>
Red(double maxThreshold, bool gentle)
{
    auto red = CreateObject<RedQueueDisc>();
    red->SetAttribute("MaxSize", StringValue("1000p"));
    red->SetAttribute("MeanPktSize", UintegerValue(PAYLOAD));
    red->SetAttribute("MinTh", DoubleValue(20));
    red->SetAttribute("MaxTh", DoubleValue(maxThreshold));
    red->SetAttribute("QW", DoubleValue(0.02));
    red->SetAttribute("LInterm", DoubleValue(50));
    red->SetAttribute("Gentle", BooleanValue(gentle));
    red->SetAttribute("Wait", BooleanValue(false));
    red->SetAttribute("LinkBandwidth", StringValue("8Mbps"));
    return red;
}

} // namespace

int
main()
{
    Time::SetResolution(Time::NS);
    RngSeedManager::SetSeed(1);
    for (int64_t gap : {950, 900, 800, 500})
    {
        Run("codel-" + std::to_string(gap), Codel(), 20, [gap] { return MicroSeconds(gap); });
    }
    // Overload for three of each four seconds, so that the dropping state is left and entered again.
    Run("codel-waves", Codel(), 40, [] {
        return MicroSeconds(Simulator::Now().GetMilliSeconds() % 4000 < 3000 ? 900 : 2500);
    });
    // Gaps of uniformly distributed length by a generator that the other side has too, so that the arrivals are the same.
    auto uniform = [](uint64_t meanNanos) {
        auto state = std::make_shared<uint64_t>(1);
        return [state, meanNanos] {
            *state = *state * 6364136223846793005 + 1442695040888963407;
            return NanoSeconds(int64_t(((*state >> 40) * 2 * meanNanos) >> 24));
        };
    };
    // Thresholds so high that the queue is hardly ever empty: ns-3, unlike the paper, drops nothing early at a queue of one.
    Run("red-1020408", Red(60, false), 2000, uniform(1020408));
    Run("red-1000000", Red(60, false), 2000, uniform(1000000));
    Run("red-990099", Red(60, false), 2000, uniform(990099));
    Run("red-833333", Red(60, false), 2000, uniform(833333));
    Run("red-gentle-833333", Red(60, true), 2000, uniform(833333));
    return 0;
}
