import { useState } from 'react'
import { Form } from 'react-aria-components'
import { saveBlob } from '../lib/save-file.ts'
import { common } from '../texts/common.ts'
import { type SheetContent, texts } from '../texts/encryption.ts'
import { texts as storageTexts } from '../texts/storages.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { submitting, TextField } from '../ui/field.tsx'
import { type EncryptionChoice, endOf, sheetContent } from './encryption.ts'

/**
 * Shows everything that opens the files of an encrypted storage, and then asks for a part of it while it is out of sight, so that
 * people keep it before the first file is stored.
 */
export function RecoveryDialog({
  encryption,
  name,
  type,
  onKept,
  onClose,
}: {
  encryption: EncryptionChoice
  /** The name of the storage. */
  name: string
  /** The title of its type. */
  type: string
  onKept: () => void
  onClose: () => void
}) {
  const [isKept, setKept] = useState(false)
  const content = sheetContent(encryption, `${name === type ? name : `${name} (${type})`}, ${location.origin}`)
  const facts = content.facts.map(([what, value]) => `${what}: ${value}`).join('\n')
  const text = texts.sheet(content.storage, content.date, facts, content.commands.join('\n'))
  // One dialog for both steps, so that the focus never leaves it.
  return (
    <Dialog title={isKept ? texts.checkTitle : texts.sheetTitle} size={isKept ? 'small' : 'large'} onClose={onClose}>
      {isKept ? (
        <Check end={endOf(encryption)} onKept={onKept} onBack={() => setKept(false)} />
      ) : (
        <>
          <p>{texts.sheetHelp}</p>
          <Sheet content={content} />
          <div className="inline-row recovery-actions">
            <Button onPress={() => print()} autoFocus>
              {texts.print}
            </Button>
            <Button onPress={() => saveBlob(new Blob([text], { type: 'text/plain' }), texts.fileName(name))}>
              {texts.download}
            </Button>
            <CopyButton text={text} label={texts.copy} />
          </div>
          <div className="dialog-actions">
            <Button onPress={onClose}>{common.cancel}</Button>
            <Button variant="primary" onPress={() => setKept(true)}>
              {texts.next}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  )
}

function Sheet({ content: { storage, date, facts, commands } }: { content: SheetContent }) {
  const rows = [[texts.storage, storage] as const, [texts.written, date] as const, ...facts]
  return (
    <section className="card recovery-sheet" aria-label={texts.sheetName}>
      <dl>
        {rows.map(([what, value]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{what === texts.password || what === texts.salt ? <code>{value}</code> : value}</dd>
          </div>
        ))}
      </dl>
      <h3>{texts.withoutStowage}</h3>
      <p>{texts.withoutStowageHelp}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: people scroll it with the keyboard */}
      <pre tabIndex={0}>{commands.join('\n')}</pre>
    </section>
  )
}

function Check({ end, onKept, onBack }: { end: string; onKept: () => void; onBack: () => void }) {
  const [typed, setTyped] = useState('')
  return (
    <Form onSubmit={submitting(onKept)}>
      <TextField
        label={texts.lastCharacters([...end].length)}
        description={texts.checkHelp}
        value={typed}
        onChange={setTyped}
        validate={text => (text === end ? null : texts.notOnSheet)}
        isRequired
        autoFocus
        autoComplete="off"
        spellCheck="false"
      />
      <div className="dialog-actions">
        <Button onPress={onBack}>{texts.showAgain}</Button>
        <Button type="submit" variant="primary">
          {storageTexts.connect}
        </Button>
      </div>
    </Form>
  )
}
