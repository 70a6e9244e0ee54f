import { useState } from 'react'
import { texts } from '../../texts/files.tsx'
import { ImageView } from './image.tsx'

/** Plays media with the browser. Seeking sends range requests to the server. */
export function Media({ kind, link, name }: { kind: 'image' | 'video' | 'audio'; link: string; name: string }) {
  const [hasFailed, setFailed] = useState(false)
  if (hasFailed) return <p className="preview-note">{texts.mediaFailed}</p>
  const fail = () => setFailed(true)
  if (kind === 'image') return <ImageView link={link} name={name} onFailed={fail} />
  if (kind === 'audio') {
    // biome-ignore lint/a11y/useMediaCaption: the file comes without captions
    return <audio src={link} aria-label={name} controls onError={fail} />
  }
  // biome-ignore lint/a11y/useMediaCaption: as above
  return <video src={link} aria-label={name} controls playsInline onError={fail} />
}
