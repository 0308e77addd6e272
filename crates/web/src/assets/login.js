// Opens the pages as soon as a person's browser shows the link: a program that only looks at links runs no scripts.
document.getElementById("login").submit();
