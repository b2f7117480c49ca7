//! The simulator at the providers' own addresses: what a program does only there, such as choosing the cheapest model of the same
//! provider, is seen on the wire too.
//!
//! A program that is started with [`ProviderAddress::environment`] asks a proxy on 127.0.0.1 for `api.anthropic.com`, and trusts one
//! authority, that of the tests. The proxy answers as that host and hands every byte to the simulator.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("../certificates/providers.der");
const KEY: &[u8] = include_bytes!("../certificates/providers.key.der");

/// A running proxy. It stops listening when it is dropped.
#[derive(Debug)]
pub struct ProviderAddress {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl ProviderAddress {
    /// Stand in for the providers; `url` is where a simulator listens.
    pub async fn of(url: &str) -> io::Result<Self> {
        let behind = url.trim_start_matches("http://").to_owned();
        let key = PrivateKeyDer::try_from(KEY.to_vec()).map_err(io::Error::other)?;
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
            .map_err(io::Error::other)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, behind) = (acceptor.clone(), behind.clone());
                // A client that goes away ends its own exchange only.
                tokio::spawn(async move { exchange(stream, acceptor, behind).await.unwrap_or_default() });
            }
        });
        Ok(Self { address, task })
    }

    /// What a program is started with, so that it comes here.
    pub fn environment(&self) -> Vec<(String, String)> {
        let proxy = format!("http://{}", self.address);
        [("HTTPS_PROXY", proxy.as_str()), ("SSL_CERT_FILE", AUTHORITY)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }
}

impl Drop for ProviderAddress {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One connection: `CONNECT`, then a secure one, then what the simulator says.
async fn exchange(stream: TcpStream, acceptor: TlsAcceptor, behind: String) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    if !line.starts_with("CONNECT ") {
        return stream.write_all(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n").await;
    }
    while line.trim() != "" {
        line.clear();
        stream.read_line(&mut line).await?;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    let mut secure = acceptor.accept(stream).await?;
    let mut simulator = TcpStream::connect(behind).await?;
    copy_bidirectional(&mut secure, &mut simulator).await.map(drop)
}
