import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.security.MessageDigest;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import kartei.ApiClient;
import kartei.ApiException;
import kartei.api.ContactsApi;
import kartei.api.DocumentsApi;
import kartei.api.EventsApi;
import kartei.api.MetaApi;
import kartei.api.OperationsApi;
import kartei.api.UploadsApi;
import kartei.model.*;

/** The journey of ../README.md with the client that openapi-generator generates for java, library native. */
public class Journey {
  static final ObjectMapper mapper = ApiClient.createDefaultObjectMapper();

  static void check(boolean holds, String what) {
    if (!holds) {
      System.err.println("journey: " + what);
      System.exit(1);
    }
  }

  interface Call<T> {
    T run() throws Exception;
  }

  interface Creation<T> {
    T run(String key) throws ApiException;
  }

  /** Returns the problem of a call that must fail with this status. */
  static Problem refused(int status, Call<?> call) throws Exception {
    try {
      call.run();
    } catch (ApiException error) {
      check(error.getCode() == status, status + " expected, got " + error.getMessage());
      return mapper.readValue(error.getResponseBody(), Problem.class);
    }
    check(false, status + " expected, and the call was carried out");
    return null;
  }

  /** Calls an operation that creates something. It retries with the same idempotency key where clients should. */
  static <T> T create(Creation<T> call) throws Exception {
    String key = UUID.randomUUID().toString();
    for (int attempt = 0; ; attempt++) {
      try {
        return call.run(key);
      } catch (ApiException error) {
        boolean again = error.getCode() == 0 || error.getCode() == 429 || error.getCode() == 503;
        if (!again || attempt == 4) {
          throw error;
        }
        long wait = 1L << attempt;
        if (error.getResponseHeaders() != null) {
          wait = error.getResponseHeaders().firstValueAsLong("Retry-After").orElse(wait);
        }
        Thread.sleep(wait * 1000);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    // Without updateBaseUri, the client calls the instance from which the document was downloaded. It sends no key by itself.
    ApiClient api = new ApiClient();
    api.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + System.getenv("KARTEI_KEY")).header("Accept-Language", "en"));
    ContactsApi contacts = new ContactsApi(api);

    Me me = new MetaApi(api).meGet();
    check("test".equals(me.getKey().getEnvironment()), "the key is of " + me.getKey().getEnvironment());

    // All pages.
    long expected = contacts.contactsCount(null, null).getCount();
    Set<String> seen = new HashSet<>();
    String next = null;
    while (true) {
      ContactPage page = contacts.contactsList(100, next, null, null, null, null);
      for (ContactListItem item : page.getData()) {
        seen.add(item.getId());
      }
      if (!page.getHasMore()) {
        break;
      }
      next = page.getNextCursor();
    }
    check(seen.size() == expected, seen.size() + " contacts on all pages, " + expected + " by the count");

    // Create and read.
    String email = UUID.randomUUID() + "@example.com";
    ContactCreate body = new ContactCreate().firstName("Jana").lastName("Sommer").email(email).jobTitle("Notarin");
    Contact created = create(key -> contacts.contactsCreate("true", key, body));
    String id = created.getId();
    var read = contacts.contactsGetWithHttpInfo(id, null);
    Contact stored = read.getData();
    check("Jana".equals(stored.getFirstName()) && "Sommer".equals(stored.getLastName()) && email.equals(stored.getEmail()),
        "stored is " + stored);

    ContactCreate wrong = new ContactCreate().firstName("Jana").email("nobody");
    Problem problem = refused(422, () -> contacts.contactsCreate("true", UUID.randomUUID().toString(), wrong));
    check("VALIDATION_FAILED".equals(problem.getCode()), "a wrong email is " + problem.getCode());
    List<ProblemField> fields = problem.getErrors();
    check(fields.size() == 1 && "email".equals(fields.get(0).getField()) && "INVALID_FORMAT".equals(fields.get(0).getCode()),
        "a wrong email is told as " + fields);

    // Change the contact with If-Match. null clears a member, and an unset member does not change.
    String tag = read.getHeaders().get("ETag").get(0);
    var answer = contacts.contactsUpdateWithHttpInfo(id, "true", tag, new ContactPatch().lastName("Winter").jobTitle(null));
    Contact changed = answer.getData();
    check("Winter".equals(changed.getLastName()), "the last name is " + changed.getLastName());
    check("Jana".equals(changed.getFirstName()), "the first name is " + changed.getFirstName());
    check(changed.getJobTitle() == null, "the job title is " + changed.getJobTitle());
    problem = refused(412, () -> contacts.contactsUpdate(id, "true", tag, new ContactPatch().lastName("Herbst")));
    check("PRECONDITION_FAILED".equals(problem.getCode()), "a stale entity tag is " + problem.getCode());
    check(problem.getCurrentRevision() == 2, "the current revision is " + problem.getCurrentRevision());

    // Delete.
    contacts.contactsDelete(id, "true", answer.getHeaders().get("ETag").get(0));
    problem = refused(404, () -> contacts.contactsGet(id, null));
    check("NOT_FOUND".equals(problem.getCode()), "a deleted contact is " + problem.getCode());

    // Read the changes since a time, with deletions, until there are no more.
    OffsetDateTime before = created.getCreatedAt().minusMinutes(1);
    Set<String> markers = new HashSet<>();
    long changes = 0;
    for (OffsetDateTime since = before; ; ) {
      ContactPage page = contacts.contactsList(100, null, since, true, null, "updatedAt");
      if (page.getData().isEmpty()) {
        break;
      }
      for (ContactListItem item : page.getData()) {
        if (item.getDeleted() != null) {
          since = item.getDeletedAt();
          markers.add(item.getId());
        } else {
          since = item.getUpdatedAt();
          changes++;
        }
      }
      check(markers.size() + changes <= 2 * expected, "the same change comes again and again");
    }
    check(markers.contains(id), "no marker stands for the deleted contact");

    // The event feed reports the same changes. Its last page has a cursor too.
    List<String> story = new ArrayList<>();
    String cursor = null;
    for (boolean more = true; more; ) {
      EventPage feed = new EventsApi(api).eventsList(100, cursor, before, "createdAt");
      for (Event event : feed.getData()) {
        if (event.getData().getId().equals(id)) {
          story.add(event.getType());
        }
      }
      cursor = feed.getNextCursor();
      more = feed.getHasMore();
    }
    check(story.equals(List.of("contact.created", "contact.updated", "contact.deleted")), "the feed has " + story);
    check(cursor != null, "the feed has no cursor to go on with");

    // Open an upload session, send the file, and create a document with it.
    byte[] file = "Klage wegen Mietminderung: Die Heizung ist ausgefallen.\n".getBytes("UTF-8");
    UploadCreate announced =
        new UploadCreate()
            .fileName("Klage.txt")
            .contentType("text/plain")
            .size((long) file.length)
            .sha256(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(file)));
    Upload upload = create(key -> new UploadsApi(api).uploadsCreate("true", key, announced));
    send(upload, file);
    DocumentsApi documents = new DocumentsApi(api);
    Operation operation = create(key -> documents.documentsCreate("true", key, new DocumentCreate().uploadId(upload.getId())));
    while (operation.getStatus().equals("queued") || operation.getStatus().equals("running")) {
      var poll = new OperationsApi(api).operationsGetWithHttpInfo(operation.getId());
      operation = poll.getData();
      Thread.sleep(1000 * Long.parseLong(poll.getHeaders().getOrDefault("Retry-After", List.of("0")).get(0)));
    }
    check(operation.getStatus().equals("succeeded"), "the operation is " + operation);
    String document = operation.getResult().getId();
    File content = documents.documentsContent(document, null, null, null);
    check(java.util.Arrays.equals(Files.readAllBytes(content.toPath()), file), "the document holds something else");
    Files.delete(content.toPath()); // the client puts a download into a temporary file
    String documentTag = documents.documentsGetWithHttpInfo(document, null).getHeaders().get("ETag").get(0);
    documents.documentsDelete(document, "true", documentTag);
  }


  /** Sends the file to the URL of the upload session. */
  static void send(Upload upload, byte[] file) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(upload.getUrl()))
            .method(upload.getMethod().getValue(), HttpRequest.BodyPublishers.ofByteArray(file));
    upload.getHeaders().forEach((name, value) -> {
      if (!name.equalsIgnoreCase("Content-Length")) { // HttpClient sets it itself
        request.header(name, value);
      }
    });
    var answer = HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
    check(answer.statusCode() < 300, "the upload is " + answer.statusCode() + ": " + answer.body());
  }
}
