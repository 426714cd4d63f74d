// How fast is ns-3's time? One TCP flow over a dumbbell: sender, two routers with the bottleneck between them, receiver. The
// same network as in crates/sim/examples/dumbbell.rs. Prints packets that crossed the bottleneck, and Mbit/s,
// for scripts/bench-ns3.
//
//   10 Mbit/s, 10 ms in one direction, a drop-tail queue of 100 packets; access links of 1 Gbit/s without delay.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

static uint64_t crossed = 0;

static void
OnPacket(Ptr<const Packet>)
{
    ++crossed;
}

int
main(int argc, char* argv[])
{
    const double seconds = argc > 1 ? std::atof(argv[1]) : 300;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpLinuxReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));

    NodeContainer nodes;
    nodes.Create(4);
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    PointToPointHelper middle;
    middle.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    middle.SetChannelAttribute("Delay", StringValue("10ms"));
    middle.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100p"));

    const NetDeviceContainer left = access.Install(nodes.Get(0), nodes.Get(1));
    const NetDeviceContainer bottleneck = middle.Install(nodes.Get(1), nodes.Get(2));
    const NetDeviceContainer right = access.Install(nodes.Get(2), nodes.Get(3));

    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    addresses.Assign(left);
    addresses.SetBase("10.0.1.0", "255.255.255.0");
    addresses.Assign(bottleneck);
    addresses.SetBase("10.0.2.0", "255.255.255.0");
    const Ipv4InterfaceContainer far = addresses.Assign(right);
    // The queue of the device alone, as in ours: no second one above it.
    TrafficControlHelper().Uninstall(bottleneck);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (uint32_t end = 0; end < bottleneck.GetN(); ++end)
    {
        bottleneck.Get(end)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&OnPacket));
    }

    const InetSocketAddress to(far.GetAddress(1), 9);
    BulkSendHelper bulk("ns3::TcpSocketFactory", to);
    bulk.Install(nodes.Get(0));
    PacketSinkHelper sink("ns3::TcpSocketFactory", to);
    const ApplicationContainer reader = sink.Install(nodes.Get(3));

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    const double bytes = DynamicCast<PacketSink>(reader.Get(0))->GetTotalRx();
    std::printf("%llu\t%.2f\n", static_cast<unsigned long long>(crossed), bytes * 8e-6 / seconds);
    Simulator::Destroy();
    return 0;
}
