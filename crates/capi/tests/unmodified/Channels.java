// Channels of com.sun.nio.sctp talk. Arguments: two ports.

import com.sun.nio.sctp.MessageInfo;
import com.sun.nio.sctp.SctpChannel;
import com.sun.nio.sctp.SctpMultiChannel;
import com.sun.nio.sctp.SctpServerChannel;
import com.sun.nio.sctp.SctpStandardSocketOptions;
import com.sun.nio.sctp.SctpStandardSocketOptions.InitMaxStreams;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;

public class Channels {
  public static void main(String[] ports) throws Exception {
    oneToOne(new InetSocketAddress("127.0.0.1", Integer.parseInt(ports[0])));
    oneToMany(new InetSocketAddress("127.0.0.1", Integer.parseInt(ports[1])));
    System.out.println("ok");
  }

  static void check(boolean condition, String what) {
    if (!condition) throw new AssertionError(what);
  }

  static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes());
  }

  /** A selector waits for the association and for the message. */
  static void oneToOne(InetSocketAddress at) throws Exception {
    SctpServerChannel listening = SctpServerChannel.open();
    listening.bind(at, 5);
    SctpChannel client = SctpChannel.open();
    client.setOption(SctpStandardSocketOptions.SCTP_INIT_MAXSTREAMS, InitMaxStreams.create(7, 7));
    client.connect(at);
    check(client.association().maxOutboundStreams() == 7, "streams");
    check(client.getRemoteAddresses().contains(at), "addresses");
    Selector selector = Selector.open();
    listening.configureBlocking(false);
    listening.register(selector, SelectionKey.OP_ACCEPT);
    check(selector.select() == 1, "accept");
    SctpChannel server = listening.accept();
    client.send(bytes("hello"), MessageInfo.createOutgoing(null, 3).payloadProtocolID(46));
    server.configureBlocking(false);
    selector.keys().forEach(SelectionKey::cancel);
    selector.selectNow();
    server.register(selector, SelectionKey.OP_READ);
    ByteBuffer buffer = ByteBuffer.allocate(100);
    MessageInfo info;
    // A notification comes first, which the channel takes for itself.
    do {
      check(selector.select() == 1, "read");
      selector.selectedKeys().clear();
      info = server.receive(buffer, null, null);
    } while (info == null);
    check(info.bytes() == 5 && info.streamNumber() == 3 && info.payloadProtocolID() == 46 && info.isComplete(), "message");
    client.shutdown();
    while (info != null && info.bytes() >= 0) info = client.receive(buffer, null, null);
    client.close();
    server.close();
    listening.close();
  }

  /** An association is set up by what is sent, and branched off. */
  static void oneToMany(InetSocketAddress at) throws Exception {
    SctpMultiChannel server = SctpMultiChannel.open();
    server.bind(at, 5);
    SctpMultiChannel client = SctpMultiChannel.open();
    client.send(bytes("many"), MessageInfo.createOutgoing(at, 1));
    ByteBuffer buffer = ByteBuffer.allocate(100);
    MessageInfo info = server.receive(buffer, null, null);
    check(info.bytes() == 4 && info.streamNumber() == 1, "message");
    SctpChannel branch = server.branch(info.association());
    branch.send(bytes("back"), MessageInfo.createOutgoing(null, 2));
    info = client.receive(buffer, null, null);
    check(info.bytes() == 4 && info.streamNumber() == 2, "answer");
    branch.close();
    client.close();
    server.close();
  }
}
