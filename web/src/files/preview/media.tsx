import { useState } from 'react'

/** By the browser's own means; seeking asks the server for ranges. */
export function Media({ kind, link, name }: { kind: 'image' | 'video' | 'audio'; link: string; name: string }) {
  const [hasFailed, setFailed] = useState(false)
  if (hasFailed) return <p className="preview-note">This browser cannot show the file: download it instead.</p>
  const fail = () => setFailed(true)
  if (kind === 'image') return <img src={link} alt={name} onError={fail} />
  if (kind === 'audio') {
    // biome-ignore lint/a11y/useMediaCaption: a file of somebody has none
    return <audio src={link} aria-label={name} controls onError={fail} />
  }
  // biome-ignore lint/a11y/useMediaCaption: as above
  return <video src={link} aria-label={name} controls playsInline onError={fail} />
}
