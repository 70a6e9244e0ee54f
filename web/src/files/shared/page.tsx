/** The page of a share link: a folder to look at, or a page to send files to. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useMemo, useRef, useState } from 'react'
import { Link, useParams, useSearchParams } from 'react-router'
import { type SharedFacts, type ShareLink, StowageError, shareLinkOf, unlockShare } from '../../api/client.ts'
import { common } from '../../texts/common.ts'
import { formatList } from '../../texts/format.ts'
import { texts } from '../../texts/shares.tsx'
import { Brand, useBrandStyle } from '../../ui/brand.tsx'
import { ErrorBox, errorMessage } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { PageTitle } from '../../ui/page.tsx'
import { Welcome } from '../../ui/welcome.tsx'
import { SharedFile } from './shared-file.tsx'
import { SharedFolder } from './shared-folder.tsx'
import '../../ui/parts.css'
import './shared.css'
import { Form } from 'react-aria-components'
import { lazyPart } from '../../lib/load-part.ts'
import { Button } from '../../ui/button.tsx'
import { submitting, TextField } from '../../ui/field.tsx'
import '../../ui/dock.css'
import { Avatar } from '../../ui/avatar.tsx'
import { Icon } from '../../ui/icons.tsx'
import { DropArea, type FileSelection, takeFiles, UploadButtons } from '../upload/choose-files.tsx'
import type { UploadTarget } from '../upload/target.ts'
import { uploadFiles, useUploadRequested } from '../upload/waiting-uploads.ts'

/** The page of a share link, for people without an account. */
export function SharedPage() {
  const { token = '' } = useParams()
  const link = useMemo(() => shareLinkOf(token), [token])
  const { data, error, refetch } = useQuery({
    queryKey: ['share', token],
    queryFn: ({ signal }) => describe(token, link, signal),
  })
  const isViewing = useSearchParams()[0].has('file')
  if (data) return <Frame facts={data}>{contentOf(token, link, data, isViewing)}</Frame>
  if (!error) return <Loading label={common.loading} />
  const reason = error instanceof StowageError ? error.reason : null
  if (reason === 'SHARE_PASSWORD_REQUIRED') return <UnlockForm token={token} onUnlocked={() => void refetch()} />
  if (reason !== null && needsSession.has(reason)) return <SignInFirst token={token} error={error} />
  if (reason === 'SHARE_ENDED') return <Notice title={texts.ended} help={texts.endedHelp} />
  if (reason === 'INVALID_CREDENTIAL') return <Notice title={texts.unknown} help={texts.unknownHelp} />
  return (
    <main className="welcome">
      <ErrorBox error={error} retry={refetch} />
    </main>
  )
}

/** The reasons of a share with members for a browser that has not opened it, or with a session that has ended. */
const needsSession: ReadonlySet<string> = new Set(['SESSION_REQUIRED', 'SESSION_ENDED'])

/** Opens a share with members as the person who is signed in, before it asks again. @throws StowageError */
async function describe(token: string, link: ShareLink, signal: AbortSignal): Promise<SharedFacts> {
  try {
    return await link.describe({ signal })
  } catch (error) {
    if (!(error instanceof StowageError) || error.reason === null || !needsSession.has(error.reason)) throw error
    await unlockShare(token)
    return link.describe({ signal })
  }
}

/** The page of a share with members for people who are not signed in. */
function SignInFirst({ token, error }: { token: string; error: unknown }) {
  return (
    <Welcome title={common.signIn} hasBrand={false}>
      <p>{errorMessage(error)}</p>
      <Link className="button primary" to={`/sign-in?${new URLSearchParams({ next: `/s/${token}` })}`}>
        {common.signIn}
      </Link>
    </Welcome>
  )
}

function contentOf(token: string, link: ShareLink, facts: SharedFacts, isViewing: boolean): ReactNode {
  if (facts.kind === 'DROP') return <DropPage token={token} link={link} facts={facts} />
  const isOneFile = !facts.isFolder && facts.name !== null
  if (isOneFile && !isViewing) return <SharedFile token={token} link={link} facts={facts} />
  return <SharedFolder token={token} link={link} facts={facts} />
}

function Frame({ facts, children }: { facts: SharedFacts; children: ReactNode }) {
  const { name, sharedBy, note, expiresAt } = facts
  const style = useBrandStyle()
  return (
    <div className="shared-page" style={style}>
      <PageTitle>{texts.pageOf(name)}</PageTitle>
      <header className="shared-head">
        <Brand />
        {sharedBy !== null && (
          <p className="shared-by">
            <Avatar name={sharedBy} />
            {facts.kind === 'DROP' ? texts.askedBy(sharedBy) : texts.sharedBy(sharedBy)}
          </p>
        )}
        {note !== '' && (
          <p className="shared-note" dir="auto">
            {note}
          </p>
        )}
        {expiresAt !== null && <p className="help">{texts.expiresAt(expiresAt)}</p>}
      </header>
      {children}
    </div>
  )
}

function Notice({ title, help }: { title: string; help: string }) {
  return (
    <Welcome title={title} hasBrand={false}>
      <p>{help}</p>
    </Welcome>
  )
}

/** Asks for the password of a share link. */
function UnlockForm({ token, onUnlocked }: { token: string; onUnlocked: () => void }) {
  const [password, setPassword] = useState('')
  const unlock = useMutation({ mutationFn: () => unlockShare(token, password), onSuccess: onUnlocked })
  return (
    <Welcome title={texts.locked} hasBrand={false}>
      <Form onSubmit={submitting(() => unlock.mutate())}>
        <TextField
          label={texts.passwordLabel}
          type="password"
          autoComplete="off"
          value={password}
          onChange={setPassword}
          isRequired
          autoFocus
        />
        {unlock.error && <ErrorBox error={unlock.error} />}
        <Button type="submit" variant="primary" isPending={unlock.isPending}>
          {texts.open}
        </Button>
      </Form>
    </Welcome>
  )
}

const UploadPanel = lazyPart(async () => (await import('../upload/panel.tsx')).UploadPanel)

/** Sends files through a drop link, with the upload queue of the console. */
function DropPage({ token, link, facts }: { token: string; link: ShareLink; facts: SharedFacts }) {
  const [arrived, setArrived] = useState(0)
  const target = useMemo(() => targetOf(link, () => setArrived(count => count + 1)), [link])
  const camera = useRef<HTMLInputElement>(null)
  const wasRequested = useUploadRequested()
  const name = facts.name ?? texts.pageOf(null)
  const upload = (selection: FileSelection) => uploadFiles({ selection, providerId: '', folder: '/' })
  return (
    <DropArea isDisabled={false} folderName={name} onFiles={upload}>
      <main className="shared-drop">
        <span className="shared-drop-icon">
          <Icon name={arrived > 0 ? 'check' : 'upload'} />
        </span>
        <h1>{texts.sendTo(name)}</h1>
        <div role="status">{arrived > 0 && <p className="shared-thanks">{texts.thanks(arrived)}</p>}</div>
        <p>{texts.dropHelp}</p>
        {facts.fileTypes.length > 0 && (
          <p className="help">{texts.onlyTypes(formatList(facts.fileTypes.map(type => `.${type}`)))}</p>
        )}
        {facts.bytesLeft !== null && <p className="help">{texts.bytesLeft(facts.bytesLeft)}</p>}
        <div className="actions">
          <UploadButtons filesText={texts.chooseFiles} folderText={texts.chooseFolder} onFiles={upload} />
          {takesPhotos(facts.fileTypes) && (
            <>
              <Button className="use-camera" onPress={() => camera.current?.click()}>
                <Icon name="camera" />
                {texts.camera}
              </Button>
              <input
                ref={camera}
                type="file"
                hidden
                accept="image/*"
                capture="environment"
                aria-label={texts.camera}
                onChange={({ currentTarget }) => takeFiles(currentTarget, upload)}
              />
            </>
          )}
        </div>
      </main>
      <Suspense>{wasRequested && <UploadPanel key={token} userId="" target={target} />}</Suspense>
    </DropArea>
  )
}

/** Returns whether a link accepts the pictures of a camera. */
function takesPhotos(fileTypes: readonly string[]): boolean {
  return fileTypes.length === 0 || ['jpg', 'jpeg', 'heic', 'png'].some(type => fileTypes.includes(type))
}

/**
 * The addresses of uploads contain the link, so the browser does not remember them.
 * @param onArrived called for each file that the server has stored
 */
function targetOf(link: ShareLink, onArrived: () => void): UploadTarget {
  return {
    isRemembered: false,
    upload: async ({ path, ...options }) => {
      const stored = await link.upload(path, options)
      onArrived()
      return stored
    },
    discard: url => link.discardUpload(url),
    // A file whose name is taken gets a number.
    takeOver: async () => {},
    // Folders appear with their first file.
    createFolder: async () => {},
  }
}
