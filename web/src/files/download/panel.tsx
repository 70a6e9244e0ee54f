import { common } from '../../texts/common.ts'
import { texts } from '../../texts/downloads.ts'
import { Button } from '../../ui/button.tsx'
import { DockPanel } from '../../ui/dock-panel.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { ProgressBar } from '../../ui/progress-bar.tsx'
import { type ArchiveDownload, removeDownload, useDownloads } from './archive-download.ts'
import './download.css'

/** Shows the progress of archives in a corner of every page. */
export function DownloadPanel() {
  const downloads = useDownloads()
  const ended = downloads.filter(({ state }) => state !== 'running')
  return (
    <DockPanel label={texts.downloads} title={headline(downloads)}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the list scrolls */}
      <ul className="download-list" tabIndex={0} aria-label={texts.downloads}>
        {downloads.map((download, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two downloads can have the same name
          <Row key={index} download={download} />
        ))}
      </ul>
      <div className="dock-actions">
        {ended.length > 0 && (
          <Button variant="quiet" onPress={() => removeDownload(...ended)}>
            {ended.length === downloads.length ? common.close : texts.clearCompleted}
          </Button>
        )}
      </div>
    </DockPanel>
  )
}

function headline(downloads: readonly ArchiveDownload[]): string {
  const countOf = (wanted: ArchiveDownload['state']) => downloads.filter(({ state }) => state === wanted).length
  if (countOf('running') > 0) return texts.running(countOf('running'))
  if (countOf('failed') > 0) return texts.failedCount(countOf('failed'))
  return texts.complete(countOf('done'))
}

function Row({ download }: { download: ArchiveDownload }) {
  const { name, count, state, size, received, error } = download
  // The size of the archive differs a little from that of its files.
  const percent = state === 'done' ? 100 : Math.min(99, Math.floor((received * 100) / Math.max(size, 1)))
  return (
    <li className="download-row">
      <span className="download-title" title={name} dir="auto">
        {name}
      </span>
      {state === 'failed' ? <ErrorBox error={error} /> : <ProgressBar label={name} percent={percent} />}
      <div className="download-state">
        <span>{state === 'done' ? texts.saved(count, received) : texts.bytesOf(count, received, size)}</span>
        {state === 'running' && (
          <Button variant="quiet" aria-label={common.actionOn(common.cancel, name)} onPress={() => download.cancel()}>
            {common.cancel}
          </Button>
        )}
      </div>
    </li>
  )
}
