#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <new>

#include "base/file.h"
#include "record/push/token_file.h"
#include "serve/channel.h"

namespace ergometer::serve {
namespace {

int at_most_int(size_t size) { return static_cast<int>(std::min<size_t>(size, INT_MAX)); }

class TlsChannel : public Channel {
 public:
  TlsChannel(SSL_CTX* context, int socket) : ssl_(SSL_new(context)), socket_(socket) {
    if (ssl_ == nullptr || SSL_set_fd(ssl_, socket) != 1) {
      SSL_free(ssl_);
      throw std::bad_alloc();
    }
    SSL_set_accept_state(ssl_);
  }
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;
  ~TlsChannel() override { SSL_free(ssl_); }

  ssize_t read(char* to, size_t size) override {
    ERR_clear_error();
    return result(SSL_read(ssl_, to, at_most_int(size)));
  }
  ssize_t write(const char* from, size_t size, bool /*more*/) override {
    ERR_clear_error();
    return result(SSL_write(ssl_, from, at_most_int(size)));
  }
  void end() override {
    ERR_clear_error();
    if (!failed_) SSL_shutdown(ssl_);
    ::shutdown(socket_, SHUT_WR);
  }

 private:
  ssize_t result(int done) {
    if (done > 0) return done;
    const int why = SSL_get_error(ssl_, done);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
      errno = EAGAIN;
      return -1;
    }
    failed_ = why == SSL_ERROR_SSL || why == SSL_ERROR_SYSCALL;
    return 0;
  }

  SSL* ssl_;
  int socket_;
  bool failed_ = false;  ///< the library wants no further calls
};

Result<void> load(SSL_CTX* context, const std::string& certificate, const std::string& key) {
  constexpr size_t kMostBytes = 1 << 20;
  for (const std::string& file : {certificate, key})
    ERGOMETER_TRY(base::read_file(file, kMostBytes));
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1)
    return input_error("{}: is no certificate in PEM form", certificate);
  ERGOMETER_TRY(record::check_private(key, "the key"));
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1)
    return input_error("{}: is no key in PEM form, or not that of {}", key, certificate);
  return {};
}

/// Who comes has to show a certificate that one of these signed.
Result<void> ask_who_comes(SSL_CTX* context, const std::string& authorities) {
  constexpr size_t kMostBytes = 1 << 20;
  ERGOMETER_TRY(base::read_file(authorities, kMostBytes));
  if (SSL_CTX_load_verify_locations(context, authorities.c_str(), nullptr) != 1)
    return input_error("{}: holds no certificate in PEM form", authorities);
  // One that is no root, as of a cluster within a company, stands for itself.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(authorities.c_str()));
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // Sessions that go on would need an id of their own; recorders keep their connections.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  return {};
}

}  // namespace

Result<ChannelMaker> tls_channels(const std::string& certificate, const std::string& key,
                                  const std::string& authorities) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  ERGOMETER_TRY(load(context.get(), certificate, key));
  if (!authorities.empty()) ERGOMETER_TRY(ask_who_comes(context.get(), authorities));
  return [context](int socket) { return std::make_unique<TlsChannel>(context.get(), socket); };
}

}  // namespace ergometer::serve
