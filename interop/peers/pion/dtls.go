// DTLS below SCTP, by pion's package for it: each end knows the fingerprint of the other one's certificate.
package main

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"

	"github.com/pion/dtls/v3"
	"github.com/pion/dtls/v3/pkg/crypto/fingerprint"
	"github.com/pion/dtls/v3/pkg/crypto/selfsign"
	dtlsnet "github.com/pion/dtls/v3/pkg/net"
)

// The fingerprint of a certificate as in session descriptions.
func fingerprintOf(certificate []byte) (string, error) {
	parsed, err := x509.ParseCertificate(certificate)
	if err != nil {
		return "", err
	}
	hash, err := fingerprint.Fingerprint(parsed, crypto.SHA256)

	return "sha-256 " + hash, err
}

// A new certificate and its fingerprint.
func newCertificate() (tls.Certificate, string, error) {
	certificate, err := selfsign.GenerateSelfSigned()
	if err != nil {
		return certificate, "", err
	}
	own, err := fingerprintOf(certificate.Certificate[0])

	return certificate, own, err
}

// The DTLS session over connection with the peer of this fingerprint.
func secure(connection net.Conn, certificate tls.Certificate, peer string, client bool) (net.Conn, error) {
	verify := func(certificates [][]byte, _ [][]*x509.Certificate) error {
		presented, err := fingerprintOf(certificates[0])
		if err == nil && !strings.EqualFold(presented, peer) {
			err = fmt.Errorf("the peer's certificate has the fingerprint %s", presented)
		}

		return err
	}
	packets := dtlsnet.PacketConnFromConn(connection)
	// For media, which browsers and the crate dimpl offer always. Without a profile in common, pion refuses the session.
	media := dtls.WithSRTPProtectionProfiles(dtls.SRTP_AEAD_AES_128_GCM)
	var session *dtls.Conn
	var err error
	if client {
		session, err = dtls.ClientWithOptions(packets, connection.RemoteAddr(), dtls.WithCertificates(certificate),
			media, dtls.WithInsecureSkipVerify(true), dtls.WithVerifyPeerCertificate(verify))
	} else {
		session, err = dtls.ServerWithOptions(packets, connection.RemoteAddr(), dtls.WithCertificates(certificate),
			media, dtls.WithClientAuth(dtls.RequireAnyClientCert), dtls.WithVerifyPeerCertificate(verify))
	}
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	return session, session.HandshakeContext(limited)
}
