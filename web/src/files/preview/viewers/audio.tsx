import { useState } from 'react'
import { common } from '../../../texts/common.ts'
import { texts } from '../../../texts/viewers.ts'
import { ErrorBox } from '../../../ui/error-box.tsx'
import { KindIcon } from '../../../ui/kind-icon.tsx'
import { Loading } from '../../../ui/loading.tsx'
import { FileCard } from '../file-card.tsx'
import { useLink, type ViewerProps } from '../viewer.ts'
import './audio.css'

/** Pixels, for screens with two pixels for each of CSS. */
const coverPixels = 512
const thumbnailPixels = 128
/** The titles around the present one that are listed. */
const listed = 200

/** Plays a sound, shows its cover, and goes on to the next sound of the folder. */
export function AudioViewer({ file, neighbors, onDownload }: ViewerProps) {
  const { data: link, error, refetch } = useLink(file)
  /** The id of a file that the browser cannot play. */
  const [failed, setFailed] = useState<string | null>(null)
  /** Whether the person has played a title, so that the next one begins without another press. */
  const [isPlaying, setPlaying] = useState(false)
  const sounds = (neighbors?.files ?? []).filter(({ kind }) => kind === 'audio')
  const at = sounds.findIndex(({ id }) => id === file.id)
  const first = Math.max(0, at - listed / 2)
  const queue = sounds.slice(first, first + listed)
  if (failed === file.id) return <FileCard file={file} note={texts.mediaFailed} onDownload={onDownload} />
  if (error) return <ErrorBox error={error} retry={refetch} />
  const showNext = () => {
    const next = sounds[at + 1]
    if (next) neighbors?.show(next.name)
  }
  return (
    <div className={`audio-view${queue.length > 1 ? ' with-queue' : ''}`}>
      <div className="audio-player">
        <Cover key={file.id} address={file.picture(coverPixels)} />
        <p className="audio-title">{file.name}</p>
        {link === undefined ? (
          <Loading label={common.loading} />
        ) : (
          // biome-ignore lint/a11y/useMediaCaption: the file comes without captions
          <audio
            src={link}
            aria-label={file.name}
            controls
            autoPlay={isPlaying}
            onPlay={() => setPlaying(true)}
            onEnded={showNext}
            onError={() => setFailed(file.id)}
          />
        )}
      </div>
      {queue.length > 1 && (
        <nav className="audio-queue" aria-label={texts.queue}>
          <h3>{texts.queue}</h3>
          <ol>
            {queue.map(each => (
              <li key={each.id}>
                <button
                  type="button"
                  aria-current={each.id === file.id ? 'true' : undefined}
                  onClick={() => neighbors?.show(each.name)}
                >
                  <Cover address={each.picture(thumbnailPixels)} />
                  <span dir="auto">{each.name}</span>
                </button>
              </li>
            ))}
          </ol>
        </nav>
      )}
    </div>
  )
}

/** The picture in a file of music, or the icon of sounds. */
function Cover({ address }: { address: string | null }) {
  const [shown] = useState(address)
  const [hasFailed, setFailed] = useState(false)
  return (
    <span className="audio-cover">
      {shown === null || hasFailed ? (
        <KindIcon kind="audio" />
      ) : (
        <img src={shown} alt="" loading="lazy" onError={() => setFailed(true)} />
      )}
    </span>
  )
}
