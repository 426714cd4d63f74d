// A server and a client of netty's SCTP transport exchange messages. Argument: a port.

import com.sun.nio.sctp.SctpStandardSocketOptions.InitMaxStreams;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.sctp.SctpChannel;
import io.netty.channel.sctp.SctpChannelOption;
import io.netty.channel.sctp.SctpMessage;
import io.netty.channel.sctp.nio.NioSctpChannel;
import io.netty.channel.sctp.nio.NioSctpServerChannel;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;

public class Echo {
  /** Sends each message back on the next stream. */
  static class Server extends SimpleChannelInboundHandler<SctpMessage> {
    protected void channelRead0(ChannelHandlerContext context, SctpMessage message) {
      int stream = message.streamIdentifier() + 1;
      context.writeAndFlush(new SctpMessage(message.protocolIdentifier(), stream, message.content().retain()));
    }
  }

  /** Counts messages until all are back. */
  static class Client extends SimpleChannelInboundHandler<SctpMessage> {
    static final int MESSAGES = 100;
    final CompletableFuture<String> done = new CompletableFuture<>();
    int received = 0;

    public void channelActive(ChannelHandlerContext context) {
      for (int i = 0; i < MESSAGES; i++) {
        byte[] text = ("message " + i).getBytes(StandardCharsets.US_ASCII);
        context.writeAndFlush(new SctpMessage(60, i % 9, Unpooled.wrappedBuffer(text)));
      }
    }

    protected void channelRead0(ChannelHandlerContext context, SctpMessage message) {
      if (message.protocolIdentifier() != 60 || message.streamIdentifier() == 0 || !message.isComplete())
        done.completeExceptionally(new AssertionError(message.toString()));
      if (++received == MESSAGES) done.complete("ok");
    }

    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      done.completeExceptionally(cause);
    }
  }

  static ChannelInitializer<SctpChannel> with(SimpleChannelInboundHandler<SctpMessage> handler) {
    return new ChannelInitializer<>() {
      protected void initChannel(SctpChannel channel) {
        channel.pipeline().addLast(handler);
      }
    };
  }

  public static void main(String[] ports) throws Exception {
    InetSocketAddress at = new InetSocketAddress("127.0.0.1", Integer.parseInt(ports[0]));
    EventLoopGroup group = new NioEventLoopGroup(2);
    ServerBootstrap server = new ServerBootstrap().group(group).channel(NioSctpServerChannel.class);
    server.childOption(SctpChannelOption.SCTP_NODELAY, true);
    Channel listening = server.childHandler(with(new Server())).bind(at).sync().channel();
    Client handler = new Client();
    Bootstrap client = new Bootstrap().group(group).channel(NioSctpChannel.class).handler(with(handler));
    client.option(SctpChannelOption.SCTP_NODELAY, true);
    client.option(SctpChannelOption.SCTP_INIT_MAXSTREAMS, InitMaxStreams.create(10, 10));
    Channel connected = client.connect(at).sync().channel();
    System.out.println(handler.done.get());
    connected.close().sync();
    listening.close().sync();
    group.shutdownGracefully(0, 1, java.util.concurrent.TimeUnit.SECONDS).sync();
  }
}
