import type { ReactNode } from 'react'
import { Link, useNavigate } from 'react-router'
import { useSession } from '../../api/session.ts'
import { folderHref } from '../../files/addresses.ts'
import type { Provider } from '../../files/operations.ts'
import { chooseFiles, DropArea, type FileSelection, UploadInput } from '../../files/upload/choose-files.tsx'
import { uploadFiles } from '../../files/upload/waiting-uploads.ts'
import { texts as fileTexts } from '../../texts/files.tsx'
import { texts } from '../../texts/home.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import './first-steps.css'

/** Leads the owner of a new workspace to the first files. */
export function FirstSteps({ provider }: { provider: Provider | null }) {
  const { viewer, workspace } = useSession()
  const navigate = useNavigate()
  const upload = (selection: FileSelection) => {
    if (!provider) return
    uploadFiles({ selection, providerId: provider.id, folder: provider.root.path })
    void navigate(folderHref(provider.id, provider.root.path))
  }
  return (
    <DropArea isDisabled={!provider} folderName={provider?.name ?? ''} onFiles={upload}>
      <section className="first-steps" aria-label={texts.steps}>
        <h2>{texts.startTitle(workspace.name)}</h2>
        <p className="help">{texts.startHelp}</p>
        <ol>
          <Step title={texts.account} isDone>
            <p>{texts.accountHelp(viewer.user.email)}</p>
          </Step>
          <Step title={texts.storage} isDone={provider !== null}>
            <p>{provider ? texts.storageDone(provider.name) : texts.storageHelp}</p>
            {!provider && (
              <Link className="button primary" to="/connect">
                {fileTexts.addFirstStorage}
              </Link>
            )}
          </Step>
          <Step title={texts.upload}>
            <p>{provider ? texts.uploadHelp : texts.uploadLater}</p>
            {provider && (
              <div className="inline-row">
                <UploadInput onFiles={upload} />
                <Button variant="primary" onPress={chooseFiles}>
                  {fileTexts.chooseFiles}
                </Button>
                <Link className="button" to={folderHref(provider.id, provider.root.path)}>
                  {texts.open(provider.name)}
                </Link>
              </div>
            )}
          </Step>
        </ol>
      </section>
    </DropArea>
  )
}

function Step({ title, isDone = false, children }: { title: string; isDone?: boolean; children: ReactNode }) {
  return (
    <li className={isDone ? 'step done' : 'step'}>
      <span className="step-mark">{isDone && <Icon name="check" />}</span>
      <div>
        <h3>
          {title}
          {isDone && <span className="visually-hidden">, {texts.done}</span>}
        </h3>
        {children}
      </div>
    </li>
  )
}
