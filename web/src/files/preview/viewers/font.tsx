import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useState } from 'react'
import { StowageError } from '../../../api/client.ts'
import { common } from '../../../texts/common.ts'
import { texts } from '../../../texts/viewers.ts'
import { ErrorBox } from '../../../ui/error-box.tsx'
import { Loading } from '../../../ui/loading.tsx'
import { FileCard } from '../file-card.tsx'
import { contentKey, type ViewerProps } from '../viewer.ts'
import { readBytes } from './bytes.ts'
import './font.css'

/** Bytes. Fonts for Chinese, Japanese and Korean have up to 30 MB. */
const maxFont = 40 * 1024 * 1024
/** Pixels. */
const sizes = [16, 24, 36, 56]

/** Shows the characters of a font, and a text of the person's own. The browser checks the font before it uses it. */
export function FontViewer({ file, onDownload }: ViewerProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ['font', ...contentKey(file)],
    queryFn: async ({ signal }) => readBytes(await file.read(null, signal), maxFont),
    gcTime: 0,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const family = `viewed ${useId()}`
  const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading')
  const [text, setText] = useState<string>(texts.fontSample)
  useEffect(() => {
    if (!data) return
    const face = new FontFace(family, data)
    let isGone = false
    face.load().then(
      () => {
        if (isGone) return
        document.fonts.add(face)
        setState('loaded')
      },
      () => {
        if (!isGone) setState('failed')
      },
    )
    return () => {
      isGone = true
      document.fonts.delete(face)
    }
  }, [data, family])
  if (error instanceof StowageError) return <ErrorBox error={error} retry={refetch} />
  if (error || state === 'failed') return <FileCard file={file} note={texts.fontFailed} onDownload={onDownload} />
  if (state === 'loading') return <Loading label={common.loading} />
  const style = { fontFamily: `"${family}"` }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the samples scroll
    <section className="font-view" aria-label={file.name} tabIndex={0}>
      <p className="font-letters" style={style}>
        {texts.fontLetters}
      </p>
      <label className="field">
        <span>{texts.fontText}</span>
        <input value={text} maxLength={200} onChange={({ target }) => setText(target.value)} />
      </label>
      {sizes.map(size => (
        <div key={size} className="font-sample">
          <span className="help">{texts.pixels(size)}</span>
          <p style={{ ...style, fontSize: size }}>{text}</p>
        </div>
      ))}
    </section>
  )
}
