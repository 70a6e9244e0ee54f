import type { StorageLocation } from '../../api/paths.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes } from '../../texts/format.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { maxShown, useBeginning } from './beginning.ts'

/** Shows the beginning of a text file. */
export function TextView({ file }: { file: StorageLocation }) {
  const { data, error, refetch } = useBeginning(file)
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={common.loading} />
  return (
    <div className="preview-text">
      {!data.isAll && <p className="notice">{texts.onlyFirst(formatBytes(maxShown))}</p>}
      {data.isGuess && <p className="notice">{texts.notUtf8}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls */}
      <pre tabIndex={0}>{data.text}</pre>
    </div>
  )
}
