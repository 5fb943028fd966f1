//! Where a port for questions listens: an address, or a socket of the file system that only the process's own user may
//! open. Called by `questions`.

use std::fs::{DirBuilder, Permissions, remove_dir, remove_file, rename, set_permissions, symlink_metadata};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// The place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// An address and port.
    Address(SocketAddr),
    /// The path of a socket.
    Socket(PathBuf),
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some(path) if Path::new(path).is_absolute() => Ok(Self::Socket(path.into())),
            Some(_) => Err("the path of a socket begins with `/`".to_owned()),
            None => text.parse().map(Self::Address).map_err(|_| "write ADDRESS:PORT or unix:PATH".to_owned()),
        }
    }
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Socket(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Listen {
    /// Whether other users reach it.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Address(_))
    }

    /// Whether other hosts reach it.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Address(address) if !address.ip().is_loopback())
    }
}

/// A connection, whatever it came by.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A place that is listened on.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    pub(crate) async fn bind(at: &Listen) -> io::Result<Self> {
        match at {
            Listen::Address(address) => TcpListener::bind(address).await.map(Self::Tcp),
            Listen::Socket(path) => own_socket(path).map(Self::Unix),
        }
    }

    /// The port of an address.
    pub(crate) fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
            Self::Unix(_) => None,
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(listener) => Box::new(listener.accept().await?.0),
            Self::Unix(listener) => Box::new(listener.accept().await?.0),
        })
    }
}

/// A socket of mode 0600. It is made in a folder that no other user may enter and moved to its place, so that no other user
/// opens it before it has its mode. A socket that an earlier process left there is replaced.
fn own_socket(path: &Path) -> io::Result<UnixListener> {
    match symlink_metadata(path) {
        Ok(there) if !there.file_type().is_socket() => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "there is something else than a socket",
            ));
        }
        _ => {}
    }
    let mut folder = path.as_os_str().to_owned();
    folder.push(format!(".{}", std::process::id()));
    let folder = PathBuf::from(folder);
    DirBuilder::new().mode(0o700).create(&folder)?;
    let made = folder.join("s");
    let listener = UnixListener::bind(&made)
        .and_then(|listener| set_permissions(&made, Permissions::from_mode(0o600)).map(|()| listener))
        .and_then(|listener| rename(&made, path).map(|()| listener));
    if listener.is_err() {
        let _ = remove_file(&made);
    }
    let _ = remove_dir(&folder);
    listener
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_sockets_are_told_apart() {
        assert_eq!("127.0.0.1:1".parse(), Ok(Listen::Address("127.0.0.1:1".parse().unwrap())));
        let socket: Listen = "unix:/run/x.sock".parse().unwrap();
        assert_eq!((socket.to_string().as_str(), socket.is_shared()), ("unix:/run/x.sock", false));
        assert!("unix:x.sock".parse::<Listen>().is_err() && "localhost".parse::<Listen>().is_err());
        let of = |text: &str| text.parse::<Listen>().map(|at| (at.is_shared(), at.is_remote()));
        assert_eq!((of("127.0.0.1:1"), of("0.0.0.0:1")), (Ok((true, false)), Ok((true, true))));
    }

    #[tokio::test]
    async fn a_socket_is_its_users_own_and_replaces_one_that_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("extender.sock");
        for _ in 0..2 {
            let listener = Listener::bind(&Listen::Socket(path.clone())).await.unwrap();
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else stays");
            let (accepted, connected) =
                tokio::join!(listener.accept(), tokio::net::UnixStream::connect(&path));
            assert!(accepted.is_ok() && connected.is_ok());
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "a file of a user").unwrap();
        assert!(Listener::bind(&Listen::Socket(path.clone())).await.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file of a user");
    }
}
